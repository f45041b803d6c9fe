import { AgentError } from '../core/errors.ts'
import { isRecord } from '../core/is-record.ts'
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
  /** Unknown entries stay in the file. */
  async function change(edit: (entries: Map<string, unknown>) => boolean): Promise<boolean> {
    const { withLock } = await import('../platform/lock.ts')
    const { writeFileAtomic } = await import('../platform/files.ts')
    return withLock(`${path}.lock`, async () => {
      const entries = await read(path)
      if (!edit(entries)) return false
      await writeFileAtomic(path, `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`)
      return true
    })
  }

  return {
    path,
    async get(name) {
      const entry = (await read(path)).get(name)
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
      await change((entries) => {
        entries.set(name, { ...unknownFields(entries.get(name), credential.type), ...credential })
        return true
      })
    },
    remove: (name) => change((entries) => entries.delete(name)),
    async list() {
      return [...(await read(path))].flatMap(([name, entry]) => (isCredential(entry) ? [summaryOf(name, entry)] : []))
    },
  }
}

function defaultPath(): string {
  const home = process.getBuiltinModule('node:os').homedir()
  return process.getBuiltinModule('node:path').join(home, '.libero', 'credentials.json')
}

/** A map, because a name may be `__proto__`. */
async function read(path: string): Promise<Map<string, unknown>> {
  const { readTextIfThere } = await import('../platform/files.ts')
  const text = await readTextIfThere(path)
  if (text === undefined) return new Map()
  const value = parse(text)
  if (isRecord(value)) return new Map(Object.entries(value))
  throw new CredentialsError(
    `The credentials file ${path} is not a JSON object, so it is neither used nor changed; correct it by hand, or delete it and log in again`,
  )
}

/** The parser's error is dropped, because it quotes the secret text. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
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
