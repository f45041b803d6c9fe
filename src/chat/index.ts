/** `libero/chat`: view models for programs that show an agent. */

export type { McpCredentialStore } from '../mcp/oauth/credential-store.ts'
export { createFileMcpCredentialStore } from '../mcp/oauth/file-credential-store.ts'
export { BUILD_AGENT, build, PLAN_AGENT, plan } from '../presets/coding.ts'
export * from './view-models.ts'
