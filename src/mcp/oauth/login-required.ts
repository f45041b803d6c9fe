import { AgentError } from '../../core/errors.ts'
import type { McpServerConfig } from '../config.ts'

/** A server requires a login by a person. */
export class McpLoginRequiredError extends AgentError {
  /** The server, by its name in the configuration. */
  readonly server: string
  /** The scopes that the login has to request, if the server named them. */
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

/** Whether a login would help: our own error, or one of the SDK after a 401 or a missing scope. */
export function isLoginRequired(error: unknown): boolean {
  return chain(error).some(
    (one) =>
      one instanceof McpLoginRequiredError ||
      brands.has(brandOf(one)) ||
      one.name === 'UnauthorizedError' ||
      ('status' in one && one.status === 401),
  )
}

/** The error as a `McpLoginRequiredError` with the missing scopes; undefined if no login would help. */
export function asLoginRequired(error: unknown, server: string): McpLoginRequiredError | undefined {
  if (!isLoginRequired(error)) return undefined
  const all = chain(error)
  const ours = all.find((one) => one instanceof McpLoginRequiredError)
  if (ours) return ours
  const wanted = all.find((one) => 'requiredScope' in one)
  const scopes = wanted && 'requiredScope' in wanted ? scopesOf(wanted.requiredScope) : []
  return new McpLoginRequiredError(server, { scopes })
}

/** Error classes of the SDK are recognized by their brands, without loading the SDK. */
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

/**
 * The configured header that the server knows us by: `Authorization` or, unless `auth: 'oauth'` asks for a login too, a key
 * such as `X-Api-Key`.
 */
export function credentialHeader({ headers = {}, auth }: McpServerConfig): string | undefined {
  const names = Object.keys(headers).map((name) => name.trim())
  if (names.some((name) => name.toLowerCase() === 'authorization')) return 'Authorization'
  return auth === 'oauth' ? undefined : names.find((name) => /^(?:.+-)?(?:api-?key|token)$/i.test(name))
}

/** A server refused the configured header that it knows us by. A login would not be used, so none is requested. */
export class McpHeaderRefusedError extends AgentError {
  /** The server, by its name in the configuration. */
  readonly server: string
  constructor(server: string, header: string) {
    super(
      `The MCP server "${server}" refused the ${header} header that its configuration sets; correct headers.${header} of "${server}" in mcpServers, or take that header out to log in instead`,
    )
    this.server = server
  }
}

/** The error for a refused login if the server has a configured header that it knows us by. */
export function asHeaderRefused(error: unknown, config: McpServerConfig): McpHeaderRefusedError | undefined {
  if (error instanceof McpHeaderRefusedError) return error
  const header = credentialHeader(config)
  return header !== undefined && isLoginRequired(error) ? new McpHeaderRefusedError(config.name, header) : undefined
}

/** The token that a server wants (`WWW-Authenticate`). */
export interface Challenge {
  /** The address of its protected resource metadata. */
  readonly resourceMetadataUrl?: string
  readonly scopes: readonly string[]
  /** Such as `insufficient_scope`. */
  readonly error?: string
}

/** Reads the challenge of a 401 or 403. Invalid scopes and addresses are left out. */
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

/** The scopes of a list separated by blanks: each once, at most 100. */
export function scopesOf(text: unknown): string[] {
  if (typeof text !== 'string') return []
  // The characters that RFC 6749 allows.
  const found = text.split(/\s+/).filter((scope) => /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/.test(scope))
  return [...new Set(found)].slice(0, 100)
}

function field(header: string, name: string): string | undefined {
  const [, quoted, plain] = new RegExp(`(?:^|[\\s,])${name}=(?:"([^"]*)"|([^\\s,"]+))`, 'i').exec(header) ?? []
  return quoted ?? plain
}
