import type { ProviderCapabilities } from '../../core/provider.ts'
import type { ChatQuirks } from '../wires/openai-chat.ts'

/** A service with OpenAI's chat API, and how it differs from an unknown one. */
export interface CompatHost {
  readonly baseURL: string
  readonly defaultModel: string
  /** Environment variables that may hold its key. */
  readonly env: readonly string[]
  /** Runs on this machine and needs no key. */
  readonly isLocal?: true
  readonly capabilities?: ProviderCapabilities
  readonly quirks?: ChatQuirks
}

/** The services that are known by name. */
export const compatHosts = {
  groq: {
    baseURL: 'https://api.groq.com/openai/v1',
    defaultModel: 'openai/gpt-oss-120b',
    env: ['GROQ_API_KEY'],
    quirks: { maxTokensField: 'max_completion_tokens', thinking: 'effort', efforts: { minimal: 'low' }, maxImages: 5 },
  },
  deepseek: {
    baseURL: 'https://api.deepseek.com/v1',
    defaultModel: 'deepseek-chat',
    env: ['DEEPSEEK_API_KEY'],
    capabilities: { vision: false },
    quirks: { thinking: 'deepseek', reasoningReplay: 'required' },
  },
  mistral: {
    baseURL: 'https://api.mistral.ai/v1',
    defaultModel: 'mistral-large-latest',
    env: ['MISTRAL_API_KEY'],
    quirks: {
      idRule: { pattern: /^[A-Za-z0-9]{9}$/, maxLength: 9 },
      streamUsage: false,
      assistantAfterTool: true,
      toolNameOnResults: true,
      emptyContent: 'empty',
    },
  },
  together: {
    baseURL: 'https://api.together.xyz/v1',
    defaultModel: 'openai/gpt-oss-120b',
    env: ['TOGETHER_API_KEY'],
    quirks: { thinking: 'together' },
  },
  fireworks: {
    baseURL: 'https://api.fireworks.ai/inference/v1',
    defaultModel: 'accounts/fireworks/models/gpt-oss-120b',
    env: ['FIREWORKS_API_KEY'],
    quirks: { thinking: 'effort', efforts: { minimal: 'low' }, reasoningReplay: 'field' },
  },
  baseten: {
    baseURL: 'https://inference.baseten.co/v1',
    defaultModel: 'openai/gpt-oss-120b',
    env: ['BASETEN_API_KEY'],
    quirks: { thinking: 'effort', efforts: { minimal: 'low' } },
  },
  xai: {
    baseURL: 'https://api.x.ai/v1',
    defaultModel: 'grok-4',
    env: ['XAI_API_KEY'],
    quirks: { reasoningOutsideOutput: true },
  },
  ollama: { baseURL: 'http://127.0.0.1:11434/v1', defaultModel: 'gpt-oss:20b', env: ['OLLAMA_API_KEY'], isLocal: true },
  lmstudio: {
    baseURL: 'http://127.0.0.1:1234/v1',
    defaultModel: 'openai/gpt-oss-20b',
    env: ['LMSTUDIO_API_KEY'],
    isLocal: true,
  },
} as const satisfies Record<string, CompatHost>
