import type { CredentialStore } from '../auth/credentials.ts'
import type { OAuthEndpoints, OAuthTokens, TokenSource } from '../auth/oauth.ts'
import type { Clock } from '../core/clock.ts'

/** The credential of one request. */
export interface RequestCredential {
  readonly kind: 'api_key' | 'oauth'
  readonly secret: string
  readonly accountId?: string
  /** It was renewed for this request. */
  readonly isFresh?: true
  /** When it expires, in ms since the epoch. */
  readonly expires?: number
}

/** Where credentials are looked for, in this order: `apiKey`, `access`, the environment, the credentials file. */
export interface CredentialOptions {
  readonly apiKey?: string
  /** An OAuth access token; with `refresh` it is renewed automatically. */
  readonly access?: string
  readonly refresh?: string
  /** When `access` expires, in ms since the epoch. */
  readonly expires?: number
  readonly accountId?: string
  /** Called with renewed tokens, so that a host that passed tokens in can store the new ones. */
  readonly onRefresh?: (tokens: OAuthTokens) => void | Promise<void>
  /** Default: `~/.libero/credentials.json`. `false`: no file is read. */
  readonly credentialsPath?: string | false
  /** Default: the environment of the process, read when the provider is made. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

export interface CredentialSource {
  /** Undefined if none was found and the service needs none. */
  get(): Promise<RequestCredential | undefined> | RequestCredential | undefined
  /** A new credential after one that was rejected; undefined if there is no way to get one. */
  renew(rejected: RequestCredential): Promise<RequestCredential | undefined>
}

/** Finds the credential of a service. The environment is read now, the credentials file only when it is needed. */
export function credentialSource(
  options: CredentialOptions,
  /** Where the credential is looked for, and how it is renewed. */
  lookup: {
    /** The name in the credentials file. */
    readonly name: string
    /** Environment variables; the first that is set is used. */
    readonly env: readonly string[]
    readonly isOptional?: boolean
    /** Where tokens are renewed; a function if that is loaded only when needed. */
    readonly oauth?: OAuthEndpoints | (() => Promise<OAuthEndpoints>)
    readonly fetch?: typeof globalThis.fetch
    readonly clock?: Clock
  },
): CredentialSource {
  const apiKey = trimmed(options.apiKey)
  if (apiKey) return fixed({ kind: 'api_key', secret: apiKey })
  const access = trimmed(options.access)
  if (access) {
    const { refresh, expires, accountId } = options
    return fromTokens({ access, ...defined({ refresh, expires, accountId }) }, options, lookup)
  }
  const env = options.env ?? processEnv()
  const key = lookup.env.map((name) => trimmed(env[name])).find(Boolean)
  if (key) return fixed({ kind: 'api_key', secret: key })
  return fromFile(options, lookup)
}

export type CredentialLookup = Parameters<typeof credentialSource>[1]

/** Files and shells often add a line break, which no header allows. A blank key counts as none. */
const trimmed = (secret: string | undefined): string | undefined => secret?.trim()

const processEnv = (): Readonly<Record<string, string | undefined>> =>
  (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {}

const fixed = (credential: RequestCredential): CredentialSource => ({
  get: () => credential,
  renew: async () => undefined,
})

/** Tokens that are renewed when they expire, if that is possible. With a store, tokens renewed by other processes are used too. */
function fromTokens(
  tokens: OAuthTokens,
  options: CredentialOptions,
  { name, oauth, fetch, clock }: CredentialLookup,
  store?: CredentialStore,
): CredentialSource {
  const { refresh, accountId } = tokens
  const withAccountId = async (): Promise<OAuthTokens> => {
    const { withAccount } = await import('../auth/oauth.ts')
    return { ...withAccount(tokens), ...defined({ accountId }) }
  }
  if (refresh === undefined || !oauth)
    return { get: async () => asCredential(await withAccountId()), renew: async () => undefined }

  let isFresh = false
  const onRefresh = async (renewed: OAuthTokens): Promise<void> => {
    isFresh = true
    await options.onRefresh?.(renewed)
  }
  const make = async (): Promise<TokenSource> => {
    const { createTokenSource } = await import('../auth/oauth.ts')
    const endpoints = typeof oauth === 'function' ? await oauth() : oauth
    return createTokenSource({
      name,
      tokens: await withAccountId(),
      endpoints,
      onRefresh,
      ...defined({ store, fetch, clock }),
    })
  }
  let making: Promise<TokenSource> | undefined
  const credentialOf = async (use: (source: TokenSource) => Promise<OAuthTokens>): Promise<RequestCredential> => {
    making ??= make()
    const credential = asCredential(await use(await making))
    if (!isFresh) return credential
    isFresh = false
    return { ...credential, isFresh: true }
  }
  return {
    get: () => credentialOf((source) => source.current()),
    renew: (rejected) => credentialOf((source) => source.refresh(rejected.secret)),
  }
}

function fromFile(options: CredentialOptions, lookup: CredentialLookup): CredentialSource {
  let reading: Promise<CredentialSource> | undefined
  const source = (): Promise<CredentialSource> => {
    reading ??= readFile(options, lookup).catch((error) => {
      reading = undefined // the next request reads the file again
      throw error
    })
    return reading
  }
  return {
    get: async () => (await source()).get(),
    async renew(rejected) {
      const renewed = await (await source()).renew(rejected)
      if (renewed) return renewed
      reading = undefined // the person may have logged in again meanwhile
      const current = await (await source()).get()
      return current && current.secret !== rejected.secret ? current : undefined
    },
  }
}

async function readFile(options: CredentialOptions, lookup: CredentialLookup): Promise<CredentialSource> {
  const { name, env, isOptional } = lookup
  const { credentialsPath } = options
  if (credentialsPath !== false) {
    const { createCredentialStore } = await import('../auth/credentials.ts')
    const store = createCredentialStore(credentialsPath === undefined ? {} : { path: credentialsPath })
    const stored = await store.get(name)
    if (stored?.type === 'api_key') return fixed({ kind: 'api_key', secret: stored.key.trim() })
    if (stored?.type === 'oauth') return fromTokens(stored, options, lookup, store)
  }
  if (isOptional) return { get: () => undefined, renew: async () => undefined }
  const ways = ['pass apiKey', ...env.map((variable) => `set ${variable}`), 'log in']
  throw new MissingCredentialError(`there are no credentials for "${name}": ${ways.join(', or ')}`)
}

/** No credential was found, and the service needs one. */
export class MissingCredentialError extends Error {}

const asCredential = ({ access, accountId, expires }: OAuthTokens): RequestCredential => ({
  kind: 'oauth',
  secret: access,
  ...(expires !== undefined && { expires }),
  ...(accountId !== undefined && { accountId }),
})

/** The fields that are not undefined. */
function defined<T extends object>(fields: T): { [Key in keyof T]?: NonNullable<T[Key]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}
