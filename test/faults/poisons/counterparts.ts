import { anthropic, google, openai, openaiCompat, openrouter } from '../../../src/providers/index.ts'
import type { ServiceOptions } from '../../../src/providers/service.ts'
import type { Wire } from '../../../src/providers/wire.ts'
import { anthropicMessages } from '../../../src/providers/wires/anthropic-messages.ts'
import { gemini } from '../../../src/providers/wires/gemini.ts'
import { openaiChat } from '../../../src/providers/wires/openai-chat.ts'
import { openaiResponses } from '../../../src/providers/wires/openai-responses.ts'
import type { Provider } from '../../../src/types.ts'
import { strictAnthropic } from '../../strict/anthropic.ts'
import { strictGemini } from '../../strict/gemini.ts'
import { strictChat } from '../../strict/openai-chat.ts'
import { strictResponses } from '../../strict/openai-responses.ts'
import type { Dialect } from '../../strict/strict-server.ts'

/** A service of ours and the strict server that stands in for the real one. */
export interface Counterpart {
  readonly name: string
  /** What turns say that come from it. */
  readonly by: { readonly provider: string; readonly model: string }
  readonly wire: Wire
  dialect(): Dialect
  provider(options: ServiceOptions): Provider
}

const plain = { apiKey: 'test-key', prices: false, retry: false } as const

/** Every wire, in more than one dress where services or models differ in what they refuse. */
export const counterparts: readonly Counterpart[] = [
  {
    name: 'anthropic, a model that thinks as it likes',
    by: { provider: 'anthropic', model: 'claude-sonnet-5' },
    wire: anthropicMessages(),
    dialect: () => strictAnthropic(),
    provider: (options) => anthropic({ ...plain, ...options }),
  },
  {
    name: 'anthropic, a model with thinking budgets',
    by: { provider: 'anthropic', model: 'claude-sonnet-4-5' },
    wire: anthropicMessages(),
    dialect: () => strictAnthropic(),
    provider: (options) => anthropic({ ...plain, ...options, defaultModel: 'claude-sonnet-4-5' }),
  },
  {
    name: 'openai',
    by: { provider: 'openai', model: 'gpt-5.5' },
    wire: openaiResponses(),
    dialect: () => strictResponses(),
    provider: (options) => openai({ ...plain, ...options }),
  },
  {
    name: 'openrouter',
    by: { provider: 'openrouter', model: 'anthropic/claude-sonnet-5' },
    wire: openaiChat({ documents: true }),
    dialect: () => strictChat({ host: 'openrouter' }),
    provider: (options) => openrouter({ ...plain, ...options }),
  },
  {
    name: 'an unknown host',
    by: { provider: 'somebody', model: 'some-model' },
    wire: openaiChat(),
    dialect: () => strictChat(),
    provider: (options) => openaiCompat({ ...plain, ...options, name: 'somebody', defaultModel: 'some-model' }),
  },
  {
    name: 'google, a model that signs its calls',
    by: { provider: 'google', model: 'gemini-3-pro-preview' },
    wire: gemini(),
    dialect: () => strictGemini(),
    provider: (options) => google({ ...plain, ...options }),
  },
  {
    name: 'google, a model of before',
    by: { provider: 'google', model: 'gemini-2.5-flash' },
    wire: gemini(),
    dialect: () => strictGemini(),
    provider: (options) => google({ ...plain, ...options, defaultModel: 'gemini-2.5-flash' }),
  },
]
