import { isRecord } from '../../core/is-record.ts'
import { digestOfJson } from '../../platform/canonical-json.ts'

/** A login to an MCP server. It counts only for this server at this address, with this issuer and this client. */
export interface McpCredential {
  /** The server's name in the configuration. */
  readonly name: string
  /** Its address when the login was made. */
  readonly server: string
  /** The authorization server, by the name it has for itself. */
  readonly issuer: string
  /** What the token is for (RFC 8707). */
  readonly resource: string
  /** What the authorization server knows us by. */
  readonly client: McpClientInformation
  readonly tokens: McpTokens
  /** What calls were refused for; the next login asks for it. */
  readonly neededScopes?: readonly string[]
  /** Where the server said that its metadata lie. */
  readonly resourceMetadataUrl?: string
  /** In ms since the epoch. */
  readonly savedAt: number
}

/** As registered, in the words of RFC 7591. */
export interface McpClientInformation {
  readonly client_id: string
  readonly client_secret?: string
  readonly token_endpoint_auth_method?: string
}

export interface McpTokens {
  readonly access: string
  /** Without it the login ends when the access token does. */
  readonly refresh?: string
  /** When the access token ends, in ms since the epoch. Unknown: only a 401 tells. */
  readonly expires?: number
  readonly scopes?: readonly string[]
}

/** What a credential is stored under: another address, issuer or client is another key. */
export function credentialKey({ name, server, issuer, resource, client }: McpCredential): string {
  return `${name}:${digestOfJson({ server, issuer, resource, client: client.client_id })}`
}

/** Whether something read from a store is a credential that this version can use. */
export function isMcpCredential(value: unknown): value is McpCredential {
  if (!isRecord(value)) return false
  const { client, tokens, savedAt, neededScopes, resourceMetadataUrl } = value
  return (
    ['name', 'server', 'issuer', 'resource'].every((field) => isText(value[field])) &&
    isRecord(client) &&
    isText(client.client_id) &&
    (client.client_secret === undefined || isText(client.client_secret)) &&
    isTokens(tokens) &&
    Number.isFinite(savedAt) &&
    isTexts(neededScopes) &&
    (resourceMetadataUrl === undefined || isText(resourceMetadataUrl))
  )
}

function isTokens(value: unknown): value is McpTokens {
  if (!isRecord(value)) return false
  const { access, refresh, expires, scopes } = value
  return (
    isText(access) &&
    (refresh === undefined || isText(refresh)) &&
    (expires === undefined || Number.isFinite(expires)) &&
    isTexts(scopes)
  )
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const isTexts = (value: unknown): boolean => value === undefined || (Array.isArray(value) && value.every(isText))
