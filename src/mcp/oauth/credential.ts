import { isRecord } from '../../core/is-record.ts'
import { digestOfJson } from '../../platform/canonical-json.ts'

/** A login to an MCP server, valid for this name, address, issuer and client only. */
export interface McpCredential {
  /** The server's name in the configuration. */
  readonly name: string
  /** Its address when the login was made. */
  readonly server: string
  /** The issuer that the authorization server names. */
  readonly issuer: string
  /** The resource of the token (RFC 8707). */
  readonly resource: string
  /** The registered client. */
  readonly client: McpClientInformation
  readonly tokens: McpTokens
  /** Scopes that refused calls needed; the next login requests them. */
  readonly neededScopes?: readonly string[]
  /** The metadata address that the server named. */
  readonly resourceMetadataUrl?: string
  /** In ms since the epoch. */
  readonly savedAt: number
}

/** With the field names of RFC 7591. */
export interface McpClientInformation {
  readonly client_id: string
  readonly client_secret?: string
  readonly token_endpoint_auth_method?: string
}

export interface McpTokens {
  readonly access: string
  /** Without it the login ends when the access token does. */
  readonly refresh?: string
  /** When the access token expires, in ms since the epoch, if known. */
  readonly expires?: number
  readonly scopes?: readonly string[]
}

/** The key of a credential in a store: another address, issuer or client has another key. */
export function credentialKey({ name, server, issuer, resource, client }: McpCredential): string {
  return `${name}:${digestOfJson({ server, issuer, resource, client: client.client_id })}`
}

/** Whether a stored value is a credential of this version. */
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
