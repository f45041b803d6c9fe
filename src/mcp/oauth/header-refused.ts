import { AgentError } from '../../core/errors.ts'
import type { McpServerConfig } from '../config.ts'
import { hasAuthorizationHeader } from './authorization-header.ts'
import { isLoginRequired } from './login-required.ts'

/** A server refused the `Authorization` header that its configuration sets. A login would not be used, so none is asked for. */
export class McpHeaderRefusedError extends AgentError {
  /** The server, by its name in the configuration. */
  readonly server: string
  constructor(server: string) {
    super(
      `The MCP server "${server}" refused the Authorization header that its configuration sets; correct headers.Authorization of "${server}" in mcpServers, or take that header out to log in instead`,
    )
    this.server = server
  }
}

/** An error that asks for a login, in the words for a server whose header is the login. */
export function asHeaderRefused(error: unknown, config: McpServerConfig): McpHeaderRefusedError | undefined {
  if (error instanceof McpHeaderRefusedError) return error
  return hasAuthorizationHeader(config) && isLoginRequired(error) ? new McpHeaderRefusedError(config.name) : undefined
}
