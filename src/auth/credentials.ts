import { AgentError } from '../core/errors.ts'
import { isRecord } from '../core/is-record.ts'
import { createEntriesFile } from './entries-file.ts'
import type { OAuthTokens } from './oauth.ts'

export interface ApiKeyCredential {
  readonly type: 'api_key'
  readonly key: string
}

export interface OAuthCredential extends OAuthTokens {
  readonly type: 'oauth'
}

export type Credential = ApiKeyCredential | OAuthCredential

/** A stored credential without its secret, for lists. */
export interface CredentialSummary {
  readonly name: string
  readonly type: Credential['type']
  /** In ms since the epoch. */
  readonly expires?: number
}

/** The credentials of this user, by the name of their provider or server. */
export interface CredentialStore {
  readonly path: string
  get(name: string): Promise<Credential | undefined>
  set(name: string, credential: Credential): Promise<void>
  /** Returns whether there was one. */
  remove(name: string): Promise<boolean>
  list(): Promise<readonly CredentialSummary[]>
}

/** The credentials file cannot be used; its owner has to repair it. */
export class CredentialsError extends AgentError {}

/** Stores credentials in one JSON file, readable only by its owner. Default: `~/.libero/credentials.json`. */
export function createCredentialStore({ path = defaultPath() }: { readonly path?: string } = {}): CredentialStore {
  const file = createEntriesFile(path, {
    title: 'The credentials file',
    readText: async (at) => (await import('../platform/files.ts')).readTextIfThere(at),
    error: (message) => new CredentialsError(message),
  })
  return {
    path,
    async get(name) {
      const entry = (await file.read()).get(name)
      if (entry === undefined || isCredential(entry)) return entry
      throw new CredentialsError(
        `The entry ${JSON.stringify(name)} in ${path} is no credential that this version knows; log in again, or correct it by hand`,
      )
    },
    async set(name, credential) {
      if (!isCredential(credential))
        throw new CredentialsError(
          `Cannot store the credential ${JSON.stringify(name)}: pass { type: 'api_key', key } or { type: 'oauth', access, refresh, expires }`,
        )
      await file.change((entries) => {
        entries.set(name, { ...unknownFields(entries.get(name), credential.type), ...credential })
        return true
      })
    },
    remove: (name) => file.change((entries) => entries.delete(name)),
    async list() {
      return [...(await file.read())].flatMap(([name, entry]) => (isCredential(entry) ? [summaryOf(name, entry)] : []))
    },
  }
}

function defaultPath(): string {
  const home = process.getBuiltinModule('node:os').homedir()
  return process.getBuiltinModule('node:path').join(home, '.libero', 'credentials.json')
}

function isCredential(value: unknown): value is Credential {
  if (!isRecord(value)) return false
  const { type, key, access, refresh, expires, accountId } = value
  if (type === 'api_key') return isText(key)
  return (
    type === 'oauth' &&
    isText(access) &&
    (refresh === undefined || isText(refresh)) &&
    (expires === undefined || Number.isFinite(expires)) &&
    (accountId === undefined || isText(accountId))
  )
}

const knownFields = new Set(['type', 'key', 'access', 'refresh', 'expires', 'accountId'])

/** Fields of other versions beside a credential of the same type. */
function unknownFields(entry: unknown, type: Credential['type']): Record<string, unknown> {
  if (!isRecord(entry) || entry.type !== type) return {}
  return Object.fromEntries(Object.entries(entry).filter(([field]) => !knownFields.has(field)))
}

function summaryOf(name: string, credential: Credential): CredentialSummary {
  const { type } = credential
  return { name, type, ...(type === 'oauth' && credential.expires !== undefined && { expires: credential.expires }) }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
