import type { ProviderCapabilities } from '../../core/provider.ts'
import { checkOptions, isFunction, type OptionRule, type OptionRules } from '../options.ts'
import { checkService, flag, record, serviceRules, text, texts } from '../service-options.ts'
import type { ChatQuirks } from '../wires/openai-chat.ts'
import type { OpenAICompatOptions } from './openai-compat.ts'

/** Throws on options of `openaiCompat` that cannot be meant. */
export function checkCompat(options: OpenAICompatOptions): void {
  const { name, authHeader, capabilities, quirks } = options ?? {}
  if (typeof name !== 'string' || name === '')
    throw new TypeError('openaiCompat needs a name, such as openaiCompat({ name: "groq" })')
  const header = typeof authHeader?.name === 'string' ? authHeader.name : 'authorization'
  checkService('openaiCompat', options, rules, { [header.toLowerCase()]: 'apiKey' })
  checkOptions('openaiCompat.capabilities', capabilities ?? {}, capabilityRules)
  checkOptions('openaiCompat.quirks', quirks ?? {}, quirkRules)
}

const rules: OptionRules<OpenAICompatOptions> = {
  ...serviceRules,
  name: text,
  authHeader: [isHeader, 'an object such as { name: "api-key" } or { name: "Authorization", scheme: "Bearer" }'],
  capabilities: record,
  cacheBreakpoints: flag,
  quirks: record,
  envKeys: texts,
}

function isHeader(value: unknown): boolean {
  const { name, scheme = '' } = (value ?? {}) as { name?: unknown; scheme?: unknown }
  return typeof name === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(name) && typeof scheme === 'string'
}

const capabilityRules: OptionRules<ProviderCapabilities> = {
  vision: flag,
  imageInToolResult: flag,
  adaptiveThinking: flag,
  textTools: flag,
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
  efforts: record,
  reasoningReplay: oneOf('none', 'field', 'required', 'details'),
  cacheBreakpoints: flag,
  emptyContent: oneOf('null', 'empty', 'omit'),
  toolNameOnResults: flag,
  assistantAfterTool: flag,
  emptyTools: flag,
  structuredOutput: oneOf('json_schema', 'none'),
  idRule: [
    (value) => (value as { pattern?: unknown } | null)?.pattern instanceof RegExp,
    'an object with pattern and maxLength',
  ],
  maxImages: [(value) => Number.isInteger(value) && Number(value) >= 0, 'a whole number, 0 or more'],
  documents: flag,
  imageInToolResult: flag,
  streamUsage: flag,
  promptCacheKey: flag,
  store: flag,
  includeObfuscation: flag,
  reasoningOutsideOutput: flag,
}
