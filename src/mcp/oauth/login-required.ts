import { AgentError } from '../../core/errors.ts'
import { scopesOf } from './challenge.ts'

/** A server wants a person to log in. Nothing that runs by itself can mend that. */
export class McpLoginRequiredError extends AgentError {
  /** The server, by its name in the configuration. */
  readonly server: string
  /** What the login has to ask for, where the server said so. */
  readonly scopes: readonly string[]
  constructor(server: string, { reason, scopes = [] }: { reason?: string; scopes?: readonly string[] } = {}) {
    const why = reason === undefined ? '' : ` (${reason})`
    const what = scopes.length > 0 ? ` with the scopes ${scopes.join(', ')}` : ''
    super(
      `The MCP server "${server}" needs a login${what}${why}; run libero mcp login ${server}, or call loginMcpServer`,
    )
    this.server = server
    this.scopes = scopes
  }
}

/** Whether an error means that a login would help: one of ours, or what the SDK throws after a 401 or for want of a scope. */
export function isLoginRequired(error: unknown): boolean {
  return chain(error).some(
    (one) =>
      one instanceof McpLoginRequiredError ||
      brands.has(brandOf(one)) ||
      one.name === 'UnauthorizedError' ||
      ('status' in one && one.status === 401),
  )
}

/** The same error in our words, with the scopes that were missing; undefined when no login would help. */
export function asLoginRequired(error: unknown, server: string): McpLoginRequiredError | undefined {
  if (!isLoginRequired(error)) return undefined
  const all = chain(error)
  const ours = all.find((one) => one instanceof McpLoginRequiredError)
  if (ours) return ours
  const wanted = all.find((one) => 'requiredScope' in one)
  const scopes = wanted && 'requiredScope' in wanted ? scopesOf(wanted.requiredScope) : []
  return new McpLoginRequiredError(server, { scopes })
}

/** The classes of the SDK are known by their marks, so that it need not be loaded to look. */
const brands = new Set(['mcp.UnauthorizedError', 'mcp.InsufficientScopeError'])

function brandOf(error: Error): string {
  const { mcpBrand } = error.constructor as { mcpBrand?: unknown }
  return typeof mcpBrand === 'string' ? mcpBrand : ''
}

function chain(error: unknown): Error[] {
  const found: Error[] = []
  for (let one = error; one instanceof Error && found.length < 5; one = one.cause) found.push(one)
  return found
}
