import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { TranscriptRules } from '../../src/providers/rules/transcript-rules.ts'
import { createToolNames } from '../../src/providers/safe-names.ts'
import type { Message, ModelRequest, SessionContentBlock, SessionTurn } from '../../src/types.ts'
import { sign } from '../strict/signatures.ts'
import { strictBase, strictTransport } from '../strict/strict-transport.ts'
import { type Counterpart, counterparts } from './poisons/counterparts.ts'
import { poisons } from './poisons/index.ts'
import { half, png } from './poisons/kit.ts'

const small = poisons.filter(({ isBig }) => !isBig)
const prompt: Message = { role: 'user', content: [{ type: 'text', text: 'Go on.' }] }

describe.each(counterparts)('B1 the rules for $name', (to) => {
  test.each(small)('repair $name once and for all', ({ turns }) => {
    const messages = turns(to)
    const fitted = repaired(messages, to)
    expect(repaired(messages, to)).toEqual(fitted)
    expect(repaired(fitted, to)).toEqual(fitted)
  })

  test('repair everything once and for all, and never change the log', () => {
    fc.assert(
      fc.property(conversation(to), (messages) => {
        const before = JSON.stringify(messages)
        const fitted = repaired(messages, to)
        expect(repaired(fitted, to)).toEqual(fitted)
        expect(JSON.stringify(messages)).toBe(before)
      }),
      { numRuns: 150 },
    )
  })

  test('make a list that grows into what they make of the whole list', () => {
    fc.assert(
      fc.property(conversation(to), (messages) => {
        const rules = rulesFor(to)
        const list: Message[] = []
        for (const message of messages) {
          list.push(message)
          rules.repair(list)
        }
        expect(rules.repair(list).messages).toEqual(repaired(messages, to))
      }),
      { numRuns: 100 },
    )
  })

  test('make a strict server take any conversation, and keep its beginning as it goes on', async () => {
    const { transport, requests } = strictTransport(to.dialect())
    await fc.assert(
      fc.asyncProperty(conversation(to), fc.boolean(), async (messages, isThinking) => {
        const provider = to.provider({ transport, baseURL: strictBase })
        // Models with budgets refuse to think about calls that were made without: see the story about that.
        const thinking = isThinking && !to.name.includes('budgets') ? 'low' : 'off'
        const about = { ...request(to.by.model), thinking } as const
        const ask = async (list: readonly Message[]): Promise<string> => {
          for await (const event of provider.stream({ ...about, messages: list }, new AbortController().signal))
            if (event.type === 'reply') return requests.at(-1)!.text
          throw new Error('there was no reply')
        }
        const list = [...messages, prompt]
        const first = await ask(list)
        list.push({ role: 'assistant', content: [{ type: 'text', text: 'ok' }] }, prompt)
        expect((await ask(list)).startsWith(first.replace(/[\]}]+$/, ''))).toBe(true)
        requests.splice(0)
      }),
      { numRuns: 150 },
    )
  })
})

const rulesFor = ({ wire, by }: Counterpart): TranscriptRules =>
  new TranscriptRules(wire.rules, { ...by, wire: wire.name, toWire: createToolNames(wire.rules.toolName).toWire })

const repaired = (messages: readonly Message[], to: Counterpart): readonly Message[] =>
  rulesFor(to).repair(messages).messages

const request = (model: string): Omit<ModelRequest, 'messages'> => ({
  model,
  system: 'Be kind.',
  tools: [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object', properties: {} } }],
  maxTokens: 100,
  thinking: 'off',
  cache: false,
})

/** What a log might hold if everything that can go wrong with one had gone wrong. */
function conversation(to: Counterpart): fc.Arbitrary<(Message & Partial<SessionTurn>)[]> {
  const words = fc.constantFrom('words', 'more', '', ' ', half, 'nul\0', '😀')
  const id = fc.constantFrom('a', 'b', 'c', '', 'ä b', 'x'.repeat(99), 'functions.f:0')
  const name = fc.constantFrom('look', 'find', 'fs.read', '', half, 'ÄÖ', 'y'.repeat(200))
  const picture = fc.record({
    type: fc.constant('image'),
    mediaType: fc.constantFrom('image/png', 'image/jpeg', 'image/tiff', 'x'),
    data: fc.constantFrom(png(), '', '!', 'AAAA'),
  })
  const text = fc.record({ type: fc.constant('text'), text: words })
  const signature = fc.constantFrom(
    '',
    'AAAA',
    sign(to.by.model, 'words'),
    sign('other', 'words'),
    'redacted_thinking:x',
  )
  const bound = { thoughtSignature: 'AAAA', id: 'rs_1' }
  const data = fc.constantFrom<unknown>({ bound }, { bound: { id: 'x' } }, { block: 'x' }, {}, 5, half)
  const providerData = fc.record({ [to.wire.name]: data }, { requiredKeys: [] })
  const block = fc.oneof(
    { weight: 3, arbitrary: text },
    picture,
    fc.record(
      {
        type: fc.constant('document'),
        mediaType: fc.constantFrom('application/pdf', 'text/plain', 'x/y'),
        data: fc.constantFrom('JVBERi0xLjc=', 'IA==', 'x'),
        name: words,
      },
      { requiredKeys: ['type', 'mediaType', 'data'] },
    ),
    fc.record(
      { type: fc.constant('thinking'), text: words, signature, providerData },
      { requiredKeys: ['type', 'text'] },
    ),
    {
      weight: 3,
      arbitrary: fc.record({
        type: fc.constant('tool_call'),
        id,
        name,
        input: fc.constantFrom<unknown>({}, { a: 1 }, { a: half }, 'no', null),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        type: fc.constant('tool_result'),
        callId: id,
        output: fc.oneof(words, fc.array(fc.oneof(text, picture), { maxLength: 3 })),
        isError: fc.boolean(),
      }),
    },
    fc.constantFrom<unknown>({ type: 'hologram' }, { type: 'text' }),
  ) as fc.Arbitrary<SessionContentBlock>
  const by = fc.constantFrom<object>({}, {}, to.by, { ...to.by, model: 'other' }, { provider: 'elsewhere', model: 'o' })
  const role = fc.constantFrom<'user' | 'assistant'>('user', 'assistant')
  const turn = fc.tuple(role, fc.array(block, { maxLength: 4 }), by).map(([role, content, by]) => ({
    role,
    // No service says anything after its own calls.
    content: 'provider' in by && by.provider === to.by.provider ? callsLast(content) : content,
    ...by,
  }))
  return fc.array(turn, { maxLength: 7 })
}

const callsLast = (content: readonly SessionContentBlock[]): SessionContentBlock[] => [
  ...content.filter(({ type }) => type !== 'tool_call'),
  ...content.filter(({ type }) => type === 'tool_call'),
]
