import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RpcHost } from '../../src/rpc/index.ts'
import { hostOf } from './agent-host.ts'
import { Client } from './client.ts'
import { agentOf } from './zot-kit.ts'

const words = [
  'hello',
  'abort',
  'get_state',
  'get_messages',
  'get_models',
  'set_model',
  'ping',
  'clear',
  'prompt',
  'compact',
]
const value = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.integer(),
  fc.constant(null),
  fc.constant([]),
  fc.constant({ a: 1 }),
)
const command = fc.record(
  {
    type: fc.oneof(fc.constantFrom(...words, 'constructor', '__proto__', ''), value),
    id: value,
    message: value,
    images: fc.oneof(value, fc.array(fc.record({ mime_type: value, data: value }))),
    model: value,
    token: value,
    __proto__: value,
  },
  { requiredKeys: [] },
)
const line = fc.oneof(
  { weight: 4, arbitrary: command.map((one) => JSON.stringify(one)) },
  { weight: 1, arbitrary: fc.tuple(command, fc.nat(30)).map(([one, cut]) => JSON.stringify(one).slice(0, -cut - 1)) },
  { weight: 1, arbitrary: fc.json() },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
)
const bytes = fc.oneof(
  { weight: 9, arbitrary: line.map((text) => new TextEncoder().encode(text.replaceAll('\n', ' '))) },
  {
    weight: 1,
    arbitrary: fc.uint8Array({ maxLength: 20 }).map((some) => some.map((byte) => (byte === 10 ? 11 : byte))),
  },
)

test('FC-07 SV-19 any line gets a response, and the next line is read', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(bytes, { maxLength: 60 }), fc.integer({ min: 1, max: 40 }), async (lines, cut) => {
      const client = new Client(quietHost())
      const all = Uint8Array.from(lines.flatMap((one) => [...one, 10]))
      for (let at = 0; at < all.length; at += cut) client.raw(all.slice(at, at + cut))
      client.say({ type: 'ping', id: 'the last' })
      client.close()
      expect(await client.ended).toEqual({ reason: 'input_ended' })
      const isBlank = (one: Uint8Array) => new TextDecoder().decode(one).trim() === ''
      const responses = client.frames.filter(({ type }) => type === 'response')
      expect(responses).toHaveLength(lines.filter((one) => !isBlank(one)).length + 1)
      expect(responses.some(({ id }) => id === 'the last')).toBe(true)
    }),
    { numRuns: 400 },
  )
}, 60_000)

/** Prompts end at once, because this tests lines. */
function quietHost(): RpcHost {
  const prompt = async () => ({ status: 'completed', stopReason: 'end' }) as const
  return hostOf(agentOf({}), { prompt })
}
