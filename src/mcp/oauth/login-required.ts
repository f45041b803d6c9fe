import { AgentError } from '../../core/errors.ts'
import type { McpServerConfig } from '../config.ts'

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

/** Whether somebody has chosen another way to sign in. */
export function hasAuthorizationHeader({ headers = {} }: McpServerConfig): boolean {
  return Object.keys(headers).some((name) => name.trim().toLowerCase() === 'authorization')
}

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

/** What a server says of the token it wants (`WWW-Authenticate`). */
export interface Challenge {
  /** Where its protected resource metadata lie. */
  readonly resourceMetadataUrl?: string
  readonly scopes: readonly string[]
  /** Such as `insufficient_scope`. */
  readonly error?: string
}

/** Reads what a 401 or a 403 asks for. A server may write anything: what is no scope or no address is left out. */
export function challengeOf({ headers }: Pick<Response, 'headers'>): Challenge {
  const header = (headers.get('www-authenticate') ?? '').slice(0, 8000)
  if (!/(^|,\s*)(bearer|dpop)\b/i.test(header)) return { scopes: [] }
  const url = URL.parse(field(header, 'resource_metadata') ?? '')
  const error = field(header, 'error')
  return {
    ...(url && { resourceMetadataUrl: url.href }),
    scopes: scopesOf(field(header, 'scope')),
    ...(error !== undefined && /^[\w.-]{1,64}$/.test(error) && { error }),
  }
}

/** The scopes of a list that servers write with blanks between them: each once, at most 100. */
export function scopesOf(text: unknown): string[] {
  if (typeof text !== 'string') return []
  // The letters of RFC 6749: none of them is invisible or ends a text.
  const found = text.split(/\s+/).filter((scope) => /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/.test(scope))
  return [...new Set(found)].slice(0, 100)
}

function field(header: string, name: string): string | undefined {
  const [, quoted, plain] = new RegExp(`(?:^|[\\s,])${name}=(?:"([^"]*)"|([^\\s,"]+))`, 'i').exec(header) ?? []
  return quoted ?? plain
}
