import type { CredentialStore } from '../auth/credentials.ts'
import type { OAuthEndpoints, OAuthTokens, TokenSource } from '../auth/oauth.ts'
import type { Clock } from '../core/clock.ts'

/** What a request proves itself with. */
export interface RequestCredential {
  readonly kind: 'api_key' | 'oauth'
  readonly secret: string
  readonly accountId?: string
  /** It was renewed just now. */
  readonly isFresh?: true
  /** When it ends, in ms since the epoch. */
  readonly expires?: number
}

/** Where credentials are looked for, in this order: `apiKey`, `access`, the environment, the credentials file. */
export interface CredentialOptions {
  readonly apiKey?: string
  /** An OAuth access token; with `refresh` it is renewed by itself. */
  readonly access?: string
  readonly refresh?: string
  /** When `access` ends, in ms since the epoch. */
  readonly expires?: number
  readonly accountId?: string
  /** Hears of renewed tokens, so that a host that passed them in can keep them. */
  readonly onRefresh?: (tokens: OAuthTokens) => void | Promise<void>
  /** Default: `~/.libero/credentials.json`. `false`: no file is looked at. */
  readonly credentialsPath?: string | false
  /** Default: the environment of the process, read when the provider is made. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

export interface CredentialSource {
  /** Undefined where none was found and the service needs none. */
  get(): Promise<RequestCredential | undefined> | RequestCredential | undefined
  /** A new one in place of one that was not accepted; undefined where there is no way to get one. */
  renew(rejected: RequestCredential): Promise<RequestCredential | undefined>
}

export interface CredentialPlace {
  /** The name in the credentials file. */
  readonly name: string
  /** Variables of the environment, the first that is set counts. */
  readonly env: readonly string[]
  readonly isOptional?: boolean
  /** How tokens are renewed; a function where that is loaded only when needed. */
  readonly oauth?: OAuthEndpoints | (() => Promise<OAuthEndpoints>)
  readonly fetch?: typeof globalThis.fetch
  readonly clock?: Clock
}

/** Finds the credential of a service. Nothing is read before it is needed but the environment, which is an option's default. */
export function credentialSource(options: CredentialOptions, place: CredentialPlace): CredentialSource {
  const apiKey = trimmed(options.apiKey)
  if (apiKey) return fixed({ kind: 'api_key', secret: apiKey })
  const access = trimmed(options.access)
  if (access) {
    const { refresh, expires, accountId } = options
    return fromTokens({ access, ...given({ refresh, expires, accountId }) }, options, place)
  }
  const env = options.env ?? processEnv()
  const key = place.env.map((name) => trimmed(env[name])).find(Boolean)
  if (key) return fixed({ kind: 'api_key', secret: key })
  return fromFile(options, place)
}

/** Files and shells like to add a line break, which no header takes. Nothing but space is nothing. */
const trimmed = (secret: string | undefined): string | undefined => secret?.trim()

const processEnv = (): Readonly<Record<string, string | undefined>> =>
  (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {}

const fixed = (credential: RequestCredential): CredentialSource => ({
  get: () => credential,
  renew: async () => undefined,
})

/** Tokens that are renewed when they end, where there is a way to. With a store, other processes' renewals are seen too. */
function fromTokens(
  tokens: OAuthTokens,
  options: CredentialOptions,
  { name, oauth, fetch, clock }: CredentialPlace,
  store?: CredentialStore,
): CredentialSource {
  const { refresh, accountId } = tokens
  const known = async (): Promise<OAuthTokens> => {
    const { withAccount } = await import('../auth/oauth.ts')
    return { ...withAccount(tokens), ...given({ accountId }) }
  }
  if (refresh === undefined || !oauth)
    return { get: async () => asCredential(await known()), renew: async () => undefined }

  let isFresh = false
  const onRefresh = async (renewed: OAuthTokens): Promise<void> => {
    isFresh = true
    await options.onRefresh?.(renewed)
  }
  const make = async (): Promise<TokenSource> => {
    const { createTokenSource } = await import('../auth/oauth.ts')
    const endpoints = typeof oauth === 'function' ? await oauth() : oauth
    return createTokenSource({ name, tokens: await known(), endpoints, onRefresh, ...given({ store, fetch, clock }) })
  }
  let making: Promise<TokenSource> | undefined
  const take = async (use: (source: TokenSource) => Promise<OAuthTokens>): Promise<RequestCredential> => {
    making ??= make()
    const credential = asCredential(await use(await making))
    if (!isFresh) return credential
    isFresh = false
    return { ...credential, isFresh: true }
  }
  return {
    get: () => take((source) => source.current()),
    renew: (rejected) => take((source) => source.refresh(rejected.secret)),
  }
}

function fromFile(options: CredentialOptions, place: CredentialPlace): CredentialSource {
  let reading: Promise<CredentialSource> | undefined
  const source = (): Promise<CredentialSource> => {
    reading ??= readFile(options, place).catch((error) => {
      reading = undefined // a file that is mended is read again
      throw error
    })
    return reading
  }
  return {
    get: async () => (await source()).get(),
    async renew(rejected) {
      const renewed = await (await source()).renew(rejected)
      if (renewed) return renewed
      reading = undefined // whoever logged in again meanwhile is heard
      const found = await (await source()).get()
      return found && found.secret !== rejected.secret ? found : undefined
    },
  }
}

async function readFile(options: CredentialOptions, place: CredentialPlace): Promise<CredentialSource> {
  const { name, env, isOptional } = place
  const { credentialsPath } = options
  if (credentialsPath !== false) {
    const { createCredentialStore } = await import('../auth/credentials.ts')
    const store = createCredentialStore(credentialsPath === undefined ? {} : { path: credentialsPath })
    const found = await store.get(name)
    if (found?.type === 'api_key') return fixed({ kind: 'api_key', secret: found.key.trim() })
    if (found?.type === 'oauth') return fromTokens(found, options, place, store)
  }
  if (isOptional) return { get: () => undefined, renew: async () => undefined }
  const ways = ['pass apiKey', ...env.map((variable) => `set ${variable}`), 'log in']
  throw new MissingCredentialError(`there are no credentials for "${name}": ${ways.join(', or ')}`)
}

/** Nobody said how to prove who we are. */
export class MissingCredentialError extends Error {}

const asCredential = ({ access, accountId, expires }: OAuthTokens): RequestCredential => ({
  kind: 'oauth',
  secret: access,
  ...(expires !== undefined && { expires }),
  ...(accountId !== undefined && { accountId }),
})

/** Without what is undefined. */
function given<T extends object>(fields: T): { [Key in keyof T]?: NonNullable<T[Key]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}
