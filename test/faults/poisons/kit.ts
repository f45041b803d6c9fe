import { deflateSync } from 'node:zlib'
import type { LogEntry } from '../../../src/core/log.ts'
import type { SessionStore } from '../../../src/core/store.ts'
import { createMemoryStore } from '../../../src/index.ts'
import type { SessionContentBlock, SessionTurn } from '../../../src/types.ts'
import type { Counterpart } from './counterparts.ts'

/** A log that would be refused as it is, by one service or another. */
export interface Poison {
  readonly name: string
  /** The rule that repairs it, for all wires or by wire; a wire without one takes it as it is. */
  readonly rule: string | Readonly<Record<string, string>>
  turns(to: Counterpart): readonly Said[]
  /** So big that it is not tried in every way. */
  readonly isBig?: true
}

/** What a log holds of one turn. */
export type Said = Partial<SessionTurn> & Pick<SessionTurn, 'role' | 'content'>

export const poison = (name: string, rule: Poison['rule'], ...turns: readonly Said[]): Poison => ({
  name,
  rule,
  turns: () => turns,
})

/** The same where it depends on who is to read it. */
export const poisonFor = (name: string, rule: Poison['rule'], turns: Poison['turns']): Poison => ({ name, rule, turns })

/** A store with an unchecked log in it. */
export async function storeWith(turns: readonly Said[], more: readonly object[] = []): Promise<SessionStore> {
  const store = createMemoryStore()
  const bodies: object[] = turns.map((turn, i) => ({
    type: 'turn',
    turn: { id: `t${i}`, runId: 'r', createdAt: 1, ...turn },
  }))
  const entries = [...bodies, ...more].map((body, i) => ({ ...body, seq: i + 1, id: `e${i}`, at: 1 }))
  const lease = { owner: 'a corrupt log', ttlMs: 1000, create: true }
  const { epoch } = await store.lease('s', lease)
  await store.append('s', entries as LogEntry[], { epoch, head: 0 })
  await store.lease('s', { ...lease, ttlMs: 0, epoch })
  return store
}

/** A PNG that says it has so many pixels. */
export function png(width = 1, height = 1): string {
  const size = Buffer.alloc(13)
  size.writeUInt32BE(width, 0)
  size.writeUInt32BE(height, 4)
  size.set([8, 0, 0, 0, 0], 8)
  const sign = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const chunks = [chunk('IHDR', size), chunk('IDAT', deflateSync(Buffer.alloc(2))), chunk('IEND', Buffer.alloc(0))]
  return Buffer.concat([sign, ...chunks]).toString('base64')
}

function chunk(type: string, data: Uint8Array): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  return Buffer.concat([length, Buffer.from(type), data, Buffer.alloc(4)])
}

type Block = SessionContentBlock

/** What no version of ours would write. */
export const odd = (block: object): Block => block as Block

export const text = (words: string): Block => ({ type: 'text', text: words })
export const image = (data = png(), mediaType = 'image/png'): Block => ({ type: 'image', mediaType, data })
export const called = (id: string, name = 'look', input: Record<string, unknown> = {}) =>
  ({ type: 'tool_call', id, name, input }) as const
export const result = (callId: string, output: unknown = 'seen', more: object = {}): Block =>
  odd({ type: 'tool_result', callId, output, ...more })
export const thought = (words: string, signature?: string): Block => ({
  type: 'thinking',
  text: words,
  ...(signature !== undefined && { signature }),
})

export const user = (...content: readonly Block[]): Said => ({ role: 'user', content })
export const assistant = (...content: readonly Block[]): Said => ({ role: 'assistant', content })
export const hi = user(text('Hi'))

/** A question, a call, its result and an answer. */
export const loop = (call: Block, answer: Block): Said[] => [hi, assistant(call), user(answer), assistant(text('So.'))]
export const elsewhere = { provider: 'elsewhere', model: 'other-model' }
export const half = 'half an emoji: \ud83d'
