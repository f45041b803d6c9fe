import { describe, expect, test } from 'vitest'
import type { Message, SessionContentBlock, ToolResultBlock } from '../../core/turn.ts'
import type { WireRules } from '../wire.ts'
import { TranscriptRules } from './transcript-rules.ts'

const usual: WireRules = {
  callId: { pattern: /^[\w-]+$/, maxLength: 20 },
  toolName: { pattern: /^\w+$/, maxLength: 64 },
  imageTypes: ['image/png'],
  documentTypes: [],
  maxMediaLength: 1000,
  maxImages: 4,
  maxTotalMediaLength: 100_000,
  signedThinkingOnly: true,
  startsWithUser: true,
  endsWithUser: true,
}
const make = (rules: Partial<WireRules> = {}): TranscriptRules =>
  new TranscriptRules({ ...usual, ...rules }, { provider: 'p', model: 'm', wire: 'w', toWire: (name) => name })

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII='
const text = (words: string): SessionContentBlock => ({ type: 'text', text: words })
const image: SessionContentBlock = { type: 'image', mediaType: 'image/png', data: png }
const call = (id: string, name = 'look'): SessionContentBlock => ({ type: 'tool_call', id, name, input: {} })
const result = (callId: string, output = 'seen'): SessionContentBlock => ({ type: 'tool_result', callId, output })
const user = (...content: SessionContentBlock[]): Message => ({ role: 'user', content })
const said = (...content: SessionContentBlock[]): Message => ({ role: 'assistant', content })
const hi = user(text('Hi'))
const loop = [hi, said(call('a')), user(result('a')), said(text('So.')), hi]

describe('a conversation with nothing wrong', () => {
  test('goes out as it is, and as the same list while it grows', () => {
    const rules = make()
    const list = [...loop]
    const { messages, repairs, sources } = rules.repair(list)
    expect(messages.every((message, i) => message === list[i])).toBe(true)
    expect(repairs).toEqual([])
    expect(sources).toEqual([0, 1, 2, 3, 4])
    list.push(said(text('Yes.')), hi)
    expect(rules.repair(list).messages).toBe(messages)
    expect(messages).toHaveLength(7)
  })
})

describe('a repair', () => {
  const bad = [user(text('\ud83d')), said(text('Yes.')), hi]
  test('is reported once, also if hooks copy the list', () => {
    const rules = make()
    expect(rules.repair(bad).repairs).toMatchObject([{ rule: 'malformed-text', message: 0, block: 0 }])
    expect(rules.repair(bad).repairs).toEqual([])
    expect(rules.repair([...bad]).repairs).toEqual([])
    expect(make().repair(bad).repairs).toHaveLength(1)
  })

  test('names the turn it is about', () => {
    const turn = { ...bad[0]!, id: 't7' }
    expect(make().repair([turn]).repairs).toMatchObject([{ repairedTurnId: 't7' }])
  })

  test('makes the same message of the same message, so that its bytes are kept', () => {
    const rules = make({ toolNameOnResults: true })
    const list = [hi, said(call('not ok')), user(result('not ok')), said(text('So.')), hi]
    const first = rules.repair([...list]).messages
    const second = rules.repair([...list]).messages
    expect(first[1]).not.toBe(list[1])
    expect(second.every((message, i) => message === first[i])).toBe(true)
  })
})

describe('results', () => {
  const answers = (...messages: Message[]) => make().repair(messages).messages.slice(2)
  test('that are missing are added, and reported with the call', () => {
    const { messages, repairs, sources } = make().repair([hi, said(text('A'), call('a')), said(text('B')), hi])
    expect(messages[2]).toMatchObject({ content: [{ type: 'tool_result', callId: 'a', isError: true }] })
    expect(repairs).toEqual([{ rule: 'missing-result', message: 1, block: 1 }])
    expect(sources).toEqual([0, 1, -1, 2, 3])
  })

  test('that come late come first', () => {
    expect(answers(hi, said(call('a')), user(text('Well?')), user(result('a'), text('There.')))).toEqual([
      user(result('a'), text('Well?'), text('There.')),
    ])
  })

  test('stand in the order of the calls', () => {
    expect(answers(hi, said(call('a'), call('b')), user(result('b'), result('a')))).toEqual([
      user(result('a'), result('b')),
    ])
  })

  test('without a call are left out', () => {
    expect(answers(hi, said(text('A')), user(result('a'), text('B')))).toEqual([user(text('B'))])
    expect(answers(hi, said(call('a')), user(result('a', 'one'), result('a', 'two')))).toEqual([
      user(result('a', 'one')),
    ])
  })

  test('FP-21 of calls with one id find their calls in order', () => {
    const { messages } = make().repair([hi, said(call('a'), call('a')), user(result('a', 'one'), result('a', 'two'))])
    const [first, second] = messages[1]!.content as readonly { id: string }[]
    expect(first!.id).not.toBe(second!.id)
    expect(messages[2]!.content).toEqual([result(first!.id, 'one'), result(second!.id, 'two')])
  })

  test('know the names of their tools where a wire wants them', () => {
    const named = make({ toolNameOnResults: true }).repair([
      hi,
      said(call('a', 'find'), call('b')),
      user(result('b')),
    ]).messages
    expect(named[2]!.content).toMatchObject([
      { callId: 'a', name: 'find' },
      { callId: 'b', name: 'look' },
    ])
  })

  test('are found again where they were', () => {
    const rules = make()
    const late = user(text('Well?'), text(''), result('a'))
    const { messages, sources } = rules.repair([hi, said(call('a')), late])
    expect(messages[2]!.content).toEqual([result('a'), text('Well?')])
    expect(sources[2]).toBe(2)
    expect([rules.blockOf(late, 0), rules.blockOf(late, 1)]).toEqual([2, 0])
  })
})

describe('the beginning and the end', () => {
  const roles = (rules: TranscriptRules, ...messages: Message[]) =>
    rules
      .repair(messages)
      .messages.map(({ role }) => role)
      .join(' ')
  const lenient = () => make({ startsWithUser: false, endsWithUser: false })

  test('are the user’s where a service wants it so', () => {
    expect(roles(make(), said(text('A')))).toBe('user assistant user')
    expect(roles(lenient(), said(text('A')))).toBe('assistant')
  })

  test('leave the end to the assistant where the service itself asked for it', () => {
    expect(make().repair([hi, said(text('A'))], { isOpenEnded: true }).messages).toHaveLength(2)
  })

  test('are there although nothing is left between them', () => {
    expect(roles(lenient(), user(text(' ')))).toBe('user')
    expect(roles(make(), user(text(' ')))).toBe('user')
  })

  test('the assistant never speaks twice in a row', () => {
    expect(roles(make(), hi, said(text('A')), user(), said(text('B')), hi)).toBe('user assistant user assistant user')
  })
})

describe('images', () => {
  const shown = (messages: readonly Message[]) =>
    messages.map(({ content }) => content.filter(({ type }) => type === 'image').length)
  test('of older messages are left out when there are too many, down to half', () => {
    const { messages, repairs } = make().repair([
      user(image, image),
      said(text('A')),
      user(image, image),
      said(text('B')),
      user(image),
    ])
    expect(shown(messages)).toEqual([0, 0, 1, 0, 1])
    expect(repairs.map(({ message, block }) => [message, block])).toEqual([
      [0, 0],
      [0, 1],
      [2, 0],
    ])
    expect(messages[0]!.content[0]).toMatchObject({ type: 'text', text: expect.stringContaining('[image left out') })
  })

  test('stay as they were left while there is room', () => {
    const rules = make()
    const list = [user(image, image), said(text('A')), user(image, image, image)]
    const before = rules.repair(list).messages
    expect(shown(before)).toEqual([0, 0, 3])
    list.push(said(text('B')), user(image))
    const after = rules.repair(list).messages
    expect(shown(after)).toEqual([0, 0, 3, 0, 1])
    expect(after[0]).toBe(before[0])
  })

  test('of one message that holds too many are the newest', () => {
    const { messages } = make().repair([user(...Array.from({ length: 9 }, () => image))])
    expect(messages[0]!.content.map(({ type }) => type)).toEqual(
      [...'ttttt', ...'iiii'].map((t) => (t === 't' ? 'text' : 'image')),
    )
  })

  test('are counted by their length too, those in results as well', () => {
    const seen = { type: 'tool_result', callId: 'a', output: [image, image] } as SessionContentBlock
    const { messages } = make({ maxTotalMediaLength: png.length * 2 }).repair([
      user(image),
      said(call('a')),
      user(seen),
    ])
    expect(shown(messages)).toEqual([0, 0, 0])
    expect((messages[2]!.content[0] as ToolResultBlock).output).toEqual([image, image])
  })
})
