/** `libero/chat`: what programs around an agent share. */
export { createFileMcpCredentialStore } from '../mcp/oauth/file-credential-store.ts'
