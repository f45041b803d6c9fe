import type { Provider } from '../../core/provider.ts'
import type { CatalogueOverrides } from '../../providers/catalogue.ts'
import { type CompatHost, compatHosts } from '../../providers/services/compat-hosts.ts'
import type { Config, ConfiguredProvider } from '../config/config.ts'

/** A provider that `--provider` accepts. */
export interface KnownProvider {
  readonly name: string
  /** Environment variables for its key; the first one that is set is used. */
  readonly env: readonly string[]
  /** Its default address, if it has one. */
  readonly baseURL?: string
  /** Works without a key. */
  readonly isFree?: true
  /** Works without a key if its address is on this machine. */
  readonly isFreeOnLoopback?: true
  /** A server of this machine, which may not be running. */
  readonly isLocal?: true
  /** Its model names have a vendor before a slash, so that part does not name a provider. */
  readonly vendors?: 'always' | 'often'
  /** Comes from the config. */
  readonly isConfigured?: true
  /** What the config says about all its models. */
  readonly facts?: Pick<ConfiguredProvider, 'contextWindow' | 'price'>
  /** How to request its list of models and send the key. */
  readonly dialect: 'openai' | 'anthropic' | 'google' | 'none'
  /** Loads only its own factory. */
  create(options: ProviderOptions): Promise<Provider>
}

/** Options of a factory, complete, so that it does not read this process' environment or home. */
interface ProviderOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /** `false` if there is no such file. */
  readonly credentialsPath: string | false
  readonly apiKey?: string
  readonly baseURL?: string
  readonly defaultModel?: string
}

/** All providers by name, in the order in which credentials are searched for if none is named. */
export function knownProviders({ providers = {} }: Pick<Config, 'providers'>): ReadonlyMap<string, KnownProvider> {
  const configured = Object.entries(providers).map(([name, provider]) => fromConfig(name, provider))
  // A configured provider replaces the built-in one of that name, at the same position.
  return new Map([...builtIn, ...configured].map((provider) => [provider.name, provider]))
}

const builtIn: readonly KnownProvider[] = [
  {
    name: 'anthropic',
    env: ['ANTHROPIC_API_KEY'],
    baseURL: 'https://api.anthropic.com/v1',
    dialect: 'anthropic',
    create: async (options) => (await import('../../providers/services/anthropic.ts')).anthropic(options),
  },
  {
    name: 'openai',
    env: ['OPENAI_API_KEY'],
    baseURL: 'https://api.openai.com/v1',
    dialect: 'openai',
    create: async (options) => (await import('../../providers/services/openai.ts')).openai(options),
  },
  {
    name: 'openrouter',
    env: ['OPENROUTER_API_KEY'],
    baseURL: 'https://openrouter.ai/api/v1',
    dialect: 'openai',
    vendors: 'always',
    create: async (options) => (await import('../../providers/services/openrouter.ts')).openrouter(options),
  },
  {
    name: 'google',
    env: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    baseURL: 'https://generativelanguage.googleapis.com/v1beta',
    dialect: 'google',
    create: async (options) => (await import('../../providers/services/google.ts')).google(options),
  },
  {
    name: 'cerebras',
    env: ['CEREBRAS_API_KEY'],
    baseURL: 'https://api.cerebras.ai/v1',
    dialect: 'openai',
    create: async (options) => (await import('../../providers/services/cerebras.ts')).cerebras(options),
  },
  ...Object.entries(compatHosts).map(([name, host]) => fromHost(name, host)),
  {
    name: 'offline',
    env: [],
    isFree: true,
    dialect: 'none',
    create: async () => (await import('../../providers/offline/offline.ts')).offline(),
  },
]

function fromHost(name: string, { env, baseURL, defaultModel, isLocal }: CompatHost): KnownProvider {
  return {
    name,
    env,
    baseURL,
    dialect: 'openai',
    isFreeOnLoopback: true,
    ...(isLocal && { isLocal, isFree: true as const }),
    ...(defaultModel.includes('/') && { vendors: 'often' as const }),
    create: async (options) =>
      (await import('../../providers/services/openai-compat.ts')).openaiCompat({ name, ...options }),
  }
}

function fromConfig(name: string, configured: ConfiguredProvider): KnownProvider {
  const { baseURL, model, apiKeyEnv } = configured
  const env = [apiKeyEnv ?? `${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_API_KEY`]
  return {
    name,
    env,
    baseURL,
    dialect: 'openai',
    isConfigured: true,
    facts: configured,
    isFreeOnLoopback: true,
    vendors: 'often',
    ...(isLoopback(baseURL) && { isFree: true as const }),
    create: async (options) =>
      (await import('../../providers/services/openai-compat.ts')).openaiCompat({
        name,
        baseURL,
        defaultModel: model,
        envKeys: env,
        prices: pricesOf(configured),
        ...options,
      }),
  }
}

/** All rates are given: the service is in no price list, and loading one takes time. */
function pricesOf({ contextWindow, price }: ConfiguredProvider): CatalogueOverrides | false {
  if (contextWindow === undefined && !price) return false
  const { input = 0, output = 0, cacheRead = input, cacheWrite = input } = price ?? {}
  const rates = price && { input, output, cacheRead, cacheWrite, cacheWrite1h: cacheWrite }
  const window = contextWindow !== undefined && { contextWindow }
  return { models: { '*': { ...rates, ...window } }, ...(!price && { prices: false }) }
}

/** Whether an address is on this machine. */
export function isLoopback(address: string): boolean {
  const hostname = URL.parse(address)?.hostname
  return hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]'
}
