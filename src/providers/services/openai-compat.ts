import { didYouMean } from '../../core/nearest.ts'
import type { Provider, ProviderCapabilities } from '../../core/provider.ts'
import { credentialSource } from '../credential.ts'
import { checkOptions, isFunction, type OptionRule, type OptionRules } from '../options.ts'
import { createProvider, lookupFor, type ServiceOptions } from '../service.ts'
import { checkServiceOptions, flagRule, objectRule, serviceRules, textRule, textsRule } from '../service-options.ts'
import type { ChatQuirks } from '../wires/openai-chat.ts'
import { type CompatHost, compatHosts } from './compat-hosts.ts'

export interface OpenAICompatOptions extends ServiceOptions {
  /** A known service (`groq`, `ollama`, …), or a name for yours. */
  readonly name: keyof typeof compatHosts | (string & {})
  /** Default `{ name: 'Authorization', scheme: 'Bearer' }`; without a scheme the value is only the key. */
  readonly authHeader?: { readonly name: string; readonly scheme?: string }
  readonly capabilities?: ProviderCapabilities
  /** Sends Anthropic's `cache_control`, for gateways that pass it on. Default false. */
  readonly cacheBreakpoints?: boolean
  /** How the service differs from most compatible ones. */
  readonly quirks?: ChatQuirks
  /** Environment variables that may hold its key. Default: the name in capitals with `_API_KEY`. */
  readonly envKeys?: readonly string[]
}

/** A service with OpenAI's chat API: a known one by its name, any other by its `baseURL`. */
export function openaiCompat(options: OpenAICompatOptions | keyof typeof compatHosts): Provider {
  const config: OpenAICompatOptions = typeof options === 'string' ? { name: options } : options
  checkCompat(config)
  const { name, cacheBreakpoints, authHeader = { name: 'Authorization', scheme: 'Bearer' } } = config
  const host = hostOf(config)
  const capabilities = { vision: true, imageInToolResult: false, ...host.capabilities, ...config.capabilities }
  const quirks = {
    ...(capabilities.structuredOutput && { structuredOutput: 'json_schema' as const }),
    ...(capabilities.imageInToolResult && { imageInToolResult: true }),
    ...host.quirks,
    ...config.quirks,
    ...(cacheBreakpoints !== undefined && { cacheBreakpoints }),
  }
  const credentialLookup = lookupFor(name, config.envKeys ?? host.env, config)
  const header = authHeader.name.toLowerCase()
  const prefix = authHeader.scheme ? `${authHeader.scheme} ` : ''
  return createProvider(
    {
      name,
      wire: async () => (await import('../wires/openai-chat.ts')).openaiChat(quirks),
      baseURL: host.baseURL,
      defaultModel: host.defaultModel,
      capabilities,
      credentials: credentialSource(config, { ...credentialLookup, ...(host.isLocal && { isOptional: true }) }),
      headers: (credential) => (credential ? { [header]: `${prefix}${credential.secret}` } : {}),
    },
    config,
  )
}

function hostOf({ name, baseURL, defaultModel }: OpenAICompatOptions): CompatHost {
  const preset = Object.hasOwn(compatHosts, name) ? (compatHosts as Record<string, CompatHost>)[name] : undefined
  const url = baseURL ?? preset?.baseURL
  const model = defaultModel ?? preset?.defaultModel
  if (url === undefined)
    throw new TypeError(
      `openaiCompat does not know "${name}"; pass its baseURL${didYouMean(name, Object.keys(compatHosts))}`,
    )
  if (model === undefined) throw new TypeError(`openaiCompat needs a defaultModel for "${name}"`)
  const env = preset?.env ?? [`${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_API_KEY`]
  return { ...preset, baseURL: url, defaultModel: model, env, ...(isLoopback(url) && { isLocal: true }) }
}

/** A server on this machine needs no key. */
function isLoopback(url: string): boolean {
  const { hostname } = new URL(url)
  return hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]'
}

/** Throws on wrong options of `openaiCompat`. */
export function checkCompat(options: OpenAICompatOptions): void {
  const { name, authHeader, capabilities, quirks } = options ?? {}
  if (typeof name !== 'string' || name === '')
    throw new TypeError('openaiCompat needs a name, such as openaiCompat({ name: "groq" })')
  const header = typeof authHeader?.name === 'string' ? authHeader.name : 'authorization'
  checkServiceOptions('openaiCompat', options, rules, { [header.toLowerCase()]: 'apiKey' })
  checkOptions('openaiCompat.capabilities', capabilities ?? {}, capabilityRules)
  checkOptions('openaiCompat.quirks', quirks ?? {}, quirkRules)
}

const rules: OptionRules<OpenAICompatOptions> = {
  ...serviceRules,
  name: textRule,
  authHeader: [isHeader, 'an object such as { name: "api-key" } or { name: "Authorization", scheme: "Bearer" }'],
  capabilities: objectRule,
  cacheBreakpoints: flagRule,
  quirks: objectRule,
  envKeys: textsRule,
}

function isHeader(value: unknown): boolean {
  const { name, scheme = '' } = (value ?? {}) as { name?: unknown; scheme?: unknown }
  return typeof name === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(name) && typeof scheme === 'string'
}

const capabilityRules: OptionRules<ProviderCapabilities> = {
  vision: flagRule,
  imageInToolResult: flagRule,
  adaptiveThinking: flagRule,
  textTools: flagRule,
  structuredOutput: [
    (value) => typeof value === 'boolean' || isFunction(value),
    'true, false or a function of the model',
  ],
}

const oneOf = (...values: readonly string[]): OptionRule => [
  (value) => values.includes(value as string),
  `one of ${values.map((value) => `"${value}"`).join(', ')}`,
]

const quirkRules: OptionRules<ChatQuirks> = {
  systemRole: oneOf('system', 'developer'),
  maxTokensField: oneOf('max_tokens', 'max_completion_tokens'),
  thinking: oneOf('none', 'effort', 'openrouter', 'deepseek', 'qwen', 'qwen-template', 'together'),
  efforts: objectRule,
  reasoningReplay: oneOf('none', 'field', 'required', 'details'),
  cacheBreakpoints: flagRule,
  emptyContent: oneOf('null', 'empty', 'omit'),
  toolNameOnResults: flagRule,
  assistantAfterTool: flagRule,
  emptyTools: flagRule,
  structuredOutput: oneOf('json_schema', 'none'),
  idRule: [
    (value) => (value as { pattern?: unknown } | null)?.pattern instanceof RegExp,
    'an object with pattern and maxLength',
  ],
  maxImages: [(value) => Number.isInteger(value) && Number(value) >= 0, 'a whole number, 0 or more'],
  documents: flagRule,
  imageInToolResult: flagRule,
  streamUsage: flagRule,
  promptCacheKey: flagRule,
  store: flagRule,
  includeObfuscation: flagRule,
  reasoningOutsideOutput: flagRule,
}
