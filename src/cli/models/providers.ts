import type { Provider } from '../../core/provider.ts'
import { type CompatHost, compatHosts } from '../../providers/services/compat-hosts.ts'
import type { Config, ConfiguredProvider } from '../config/config.ts'

/** A provider that `--provider` knows by name. */
export interface KnownProvider {
  readonly name: string
  /** Variables of the environment that may hold its key, the first that is set counts. */
  readonly env: readonly string[]
  /** Where it is, as long as nobody says otherwise; absent where there is no such place. */
  readonly baseURL?: string
  /** Works without a key. */
  readonly isFree?: true
  /** Works without a key at an address of this machine. */
  readonly isFreeOnLoopback?: true
  /** A server of this machine, which is asked whether it is there. */
  readonly isLocal?: true
  /** Its models have a vendor before a slash in their names, so that this part says nothing about the provider. */
  readonly vendors?: 'always' | 'often'
  /** Comes from the config. */
  readonly isConfigured?: true
  /** How its list of models is asked for, and what it wants to be shown a key as. */
  readonly dialect: 'openai' | 'anthropic' | 'google' | 'none'
  /** Loads its factory, and nothing of the others. */
  create(options: ProviderOptions): Promise<Provider>
}

/** What is handed to a factory: nothing is left to defaults that read this process' environment or home. */
interface ProviderOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /** `false` where there is no such file: nobody has to look again. */
  readonly credentialsPath: string | false
  readonly apiKey?: string
  readonly baseURL?: string
  readonly defaultModel?: string
}

/** All that can be named here, by name. The order is the one in which credentials are looked for where none is named. */
export function knownProviders({ providers = {} }: Pick<Config, 'providers'>): ReadonlyMap<string, KnownProvider> {
  const configured = Object.entries(providers).map(([name, provider]) => fromConfig(name, provider))
  // A configured one replaces its namesake, in its place.
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

function fromConfig(name: string, { baseURL, model, apiKeyEnv }: ConfiguredProvider): KnownProvider {
  const env = [apiKeyEnv ?? `${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_API_KEY`]
  return {
    name,
    env,
    baseURL,
    dialect: 'openai',
    isConfigured: true,
    isFreeOnLoopback: true,
    vendors: 'often',
    ...(isLoopback(baseURL) && { isFree: true as const }),
    create: async (options) =>
      (await import('../../providers/services/openai-compat.ts')).openaiCompat({
        name,
        baseURL,
        defaultModel: model,
        envKeys: env,
        prices: false, // no list knows it, and looking into one takes its time
        ...options,
      }),
  }
}

/** Whether an address is on this machine, where a server may do without a key. */
export function isLoopback(address: string): boolean {
  const hostname = URL.parse(address)?.hostname
  return hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]'
}
