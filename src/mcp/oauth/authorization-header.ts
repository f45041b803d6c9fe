import type { McpServerConfig } from '../config.ts'

/** Whether somebody has chosen another way to sign in. */
export function hasAuthorizationHeader({ headers = {} }: McpServerConfig): boolean {
  return Object.keys(headers).some((name) => name.trim().toLowerCase() === 'authorization')
}
