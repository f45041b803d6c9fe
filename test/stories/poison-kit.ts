import { deflateSync } from 'node:zlib'
import type { LogEntry } from '../../src/core/log.ts'
import type { SessionStore } from '../../src/core/store.ts'
import { createMemoryStore } from '../../src/index.ts'
import { anthropic, google, openai, openaiCompat, openrouter } from '../../src/providers/index.ts'
import type { Provider, SessionContentBlock, SessionTurn } from '../../src/types.ts'
import { strictAnthropic } from '../strict/anthropic.ts'
import { strictGemini } from '../strict/gemini.ts'
import { strictChat } from '../strict/openai-chat.ts'
import { strictResponses } from '../strict/openai-responses.ts'
import type { Dialect } from '../strict/strict-server.ts'

/** A service of ours and the strict server that stands in for the real one. */
export interface Counterpart {
  readonly name: string
  /** What turns say that come from it. */
  readonly by: { readonly provider: string; readonly model: string }
  readonly wire: string
  dialect(): Dialect
  provider(baseURL: string): Provider
}

const plain = { apiKey: 'test-key', prices: false, retry: false } as const

/** Every wire, in more than one dress where services or models differ in what they refuse. */
export const counterparts: readonly Counterpart[] = [
  {
    name: 'anthropic, a model that thinks as it likes',
    by: { provider: 'anthropic', model: 'claude-sonnet-5' },
    wire: 'anthropic-messages',
    dialect: () => strictAnthropic(),
    provider: (baseURL) => anthropic({ ...plain, baseURL }),
  },
  {
    name: 'anthropic, a model with thinking budgets',
    by: { provider: 'anthropic', model: 'claude-sonnet-4-5' },
    wire: 'anthropic-messages',
    dialect: () => strictAnthropic(),
    provider: (baseURL) => anthropic({ ...plain, baseURL, defaultModel: 'claude-sonnet-4-5' }),
  },
  {
    name: 'openai',
    by: { provider: 'openai', model: 'gpt-5.5' },
    wire: 'openai-responses',
    dialect: () => strictResponses(),
    provider: (baseURL) => openai({ ...plain, baseURL }),
  },
  {
    name: 'openrouter',
    by: { provider: 'openrouter', model: 'anthropic/claude-sonnet-5' },
    wire: 'openai-chat',
    dialect: () => strictChat({ host: 'openrouter' }),
    provider: (baseURL) => openrouter({ ...plain, baseURL }),
  },
  {
    name: 'an unknown host',
    by: { provider: 'somebody', model: 'some-model' },
    wire: 'openai-chat',
    dialect: () => strictChat(),
    provider: (baseURL) => openaiCompat({ ...plain, baseURL, name: 'somebody', defaultModel: 'some-model' }),
  },
  {
    name: 'google, a model that signs its calls',
    by: { provider: 'google', model: 'gemini-3-pro-preview' },
    wire: 'gemini',
    dialect: () => strictGemini(),
    provider: (baseURL) => google({ ...plain, baseURL }),
  },
  {
    name: 'google, a model of before',
    by: { provider: 'google', model: 'gemini-2.5-flash' },
    wire: 'gemini',
    dialect: () => strictGemini(),
    provider: (baseURL) => google({ ...plain, baseURL, defaultModel: 'gemini-2.5-flash' }),
  },
]

/** What a log holds of one turn. */
export type Said = Partial<SessionTurn> & Pick<SessionTurn, 'role' | 'content'>

/** A store with a log in it that nobody checked. */
export async function storeWith(turns: readonly Said[], more: readonly object[] = []): Promise<SessionStore> {
  const store = createMemoryStore()
  const bodies: object[] = turns.map((turn, i) => ({
    type: 'turn',
    turn: { id: `t${i}`, runId: 'r', createdAt: 1, ...turn },
  }))
  const entries = [...bodies, ...more].map((body, i) => ({ ...body, seq: i + 1, id: `e${i}`, at: 1 }))
  const lease = { owner: 'a corrupt log', ttlMs: 1000 }
  const { epoch } = await store.lease('s', lease)
  await store.append('s', entries as LogEntry[], { epoch, head: 0 })
  await store.lease('s', { ...lease, ttlMs: 0, epoch })
  return store
}

/** A PNG of so many pixels. */
export function png(width = 1, height = 1): string {
  const size = Buffer.alloc(13)
  size.writeUInt32BE(width, 0)
  size.writeUInt32BE(height, 4)
  size.set([8, 0, 0, 0, 0], 8)
  const chunk = (type: string, data: Uint8Array): Buffer => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(data.length)
    return Buffer.concat([length, Buffer.from(type), data, Buffer.alloc(4)])
  }
  const sign = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const pixels = deflateSync(Buffer.alloc(2))
  return Buffer.concat([sign, chunk('IHDR', size), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))]).toString(
    'base64',
  )
}

export const text = (words: string): SessionContentBlock => ({ type: 'text', text: words })
export const image = (data = png(), mediaType = 'image/png'): SessionContentBlock & { type: 'image' } => ({
  type: 'image',
  mediaType,
  data,
})
export const called = (
  id: string,
  name = 'look',
  input: Record<string, unknown> = {},
): SessionContentBlock & { type: 'tool_call' } => ({ type: 'tool_call', id, name, input })
export const result = (callId: string, output: unknown = 'seen', more: object = {}): SessionContentBlock =>
  ({ type: 'tool_result', callId, output, ...more }) as SessionContentBlock
export const user = (...content: readonly SessionContentBlock[]): Said => ({ role: 'user', content })
export const assistant = (...content: readonly SessionContentBlock[]): Said => ({ role: 'assistant', content })
