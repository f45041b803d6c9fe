import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { scripted, texts, tool } from '../testing/index.ts'
import { assembleAgent } from './agent.ts'
import type { ModelEvent, ReplyToolCall, StopReason } from './provider.ts'
import type { JsonSchema } from './tool.ts'
import { parseArguments } from './tool-arguments.ts'
import type { Message, ToolCallBlock } from './turn.ts'

describe('small errors in JSON are repaired, and the text is kept', () => {
  test.each([
    ['a trailing comma', '{"a": [1, 2,], "b": "x",}', { a: [1, 2], b: 'x' }],
    ['single quotes', `{'a': 'it is "so"', 'b': ['x']}`, { a: 'it is "so"', b: ['x'] }],
    ['a code fence', '```json\n{"a": 1}\n```', { a: 1 }],
    ['a bare code fence', '```\n{"a": 1,}```', { a: 1 }],
    ['a fence inside a string', '```json\n{"a": "```sh\\nls\\n```"}\n```', { a: '```sh\nls\n```' }],
    ['Python literals', '{"a": True, "b": False, "c": None}', { a: true, b: false, c: null }],
    ['unquoted keys', '{a: 1, b_c: "x"}', { a: 1, b_c: 'x' }],
    ['line breaks inside a string', '{"a": "one\ntwo"}', { a: 'one\ntwo' }],
  ])('%s', async (_, text, input) => {
    expect(parseArguments(text, false)).toEqual({ input, raw: text })
  })

  test('a code fence around a long run of spaces', () => {
    const a = ' '.repeat(200_000) // a pattern that tried each of them anew would take minutes
    for (const text of [`\`\`\`json {"a": "${a}x"}`, `f({"a": ")${a}x"})`])
      expect(parseArguments(text, false)).toMatchObject({ raw: text, input: { a: expect.stringContaining(a) } })
  })
})

describe('what is valid is left alone', () => {
  test('any JSON object is read as it is, at once, and no text is kept', () => {
    const value = fc.jsonValue({ stringUnit: 'grapheme' })
    const input = fc.dictionary(fc.oneof(fc.string({ unit: 'grapheme' }), fc.constant('__proto__')), value)
    fc.assert(
      fc.property(input, fc.constantFrom('', ' ', '\n\t'), (given, space) => {
        const text = `${space}${JSON.stringify(given, null, space)}${space}`
        expect(parseArguments(text, false)).toEqual({ input: JSON.parse(text) })
      }),
    )
  })

  test('an object that the service parsed is taken as it is', () => {
    const input = { a: [1, { b: null }], c: 'x' }
    expect(parseArguments(input, false)).toEqual({ input })
  })

  test.each(['', ' ', '\n'])('no arguments at all (%j) are an empty object', (text) => {
    expect(parseArguments(text, false)).toEqual({ input: {} })
  })
})

describe('a text that was cut off never becomes another input', () => {
  test.each([
    ['JSON', JSON.stringify({ cmd: `echo "}" '{' ] \\ ä😀`, list: [1, { n: null }], deep: { on: true, x: -1.5e-7 } })],
    ['a trailing comma', '{"cmd": "echo }", "list": [1, 2,], "deep": {"on": true,},}'],
    ['unquoted keys', '{cmd: "echo }", list: [1, 2], on: true}'],
    ['a code fence', '```json\n{"cmd": "echo } ```", "list": [1, 2],}\n```'],
    ['Python literals', '{"cmd": "echo }", "on": True, "off": None}'],
    ['single quotes', `{'cmd': 'echo } && rm x', 'list': [1, 'a]'], 'on': True}`],
    ['typographic quotes', '{“cmd”: “echo } && rm x”, “n”: 1}'],
    ['backticks', '{`cmd`: `echo } && rm x`, `n`: 1}'],
    ['escaped quotes', '{\\"cmd\\": \\"echo } && rm x\\", \\"n\\": 1}'],
    ['quotes inside quotes', '{"cmd": "echo "a } b" && rm x", "n": 1}'],
    ['a comment', '{"cmd": "ls", /* } */ "dryRun": true}'],
    ['no quotes at all', '{cmd: echo a, list: [{a: 1}, {b: x}], on: true, n: 12}'],
  ])('%s, cut at every byte', async (_, text) => {
    const properties = { cmd: {}, list: { type: 'array' }, on: { type: 'boolean' }, n: { type: 'integer' } }
    const whole = parseArguments(text, false, { properties })
    const bytes = new TextEncoder().encode(text)
    const wrong: string[] = []
    for (let end = 1; end < bytes.length; end++) {
      const part = new TextDecoder().decode(bytes.subarray(0, end))
      const { input, unreadable } = parseArguments(part, false, { properties })
      const isOther = JSON.stringify(input) !== JSON.stringify(whole.input)
      if (unreadable === undefined && isOther) wrong.push(`${part} → ${JSON.stringify(input)}`)
    }
    expect(wrong).toEqual([])
  })

  test('any JSON object, cut anywhere, is kept as text', async () => {
    const input = fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 })
    await fc.assert(
      fc.asyncProperty(input, fc.nat(), async (given, n) => {
        const text = JSON.stringify(given)
        const part = text.slice(0, 1 + (n % (text.length - 1)))
        const read = parseArguments(part, false)
        expect(read).toMatchObject({ input: {}, raw: part, unreadable: expect.any(String) })
      }),
    )
  })

  test('dots that stand for what was left out are not dropped', async () => {
    const text = '{"path": "/tmp/x", ...}'
    expect(parseArguments(text, false)).toEqual({ input: {}, raw: text, unreadable: expect.any(String) })
  })

  test('when the reply hit the output limit, not even a text that happens to be whole is read', () => {
    const unreadable = 'the reply hit the output limit before the arguments were complete'
    expect(parseArguments('{"cmd":"ls"}', true)).toEqual({ input: {}, raw: '{"cmd":"ls"}', unreadable })
    expect(parseArguments('', true)).toEqual({ input: {}, raw: '', unreadable })
  })
})

describe('what cannot be an input', () => {
  test.each([
    ['null', 'null'],
    ['[]', 'array'],
    ['[{"a":1}]', 'array'],
    ['"x"', 'string'],
    ['true', 'boolean'],
    ['1e999', 'number'],
  ])('%s is not an object', (text, kind) => {
    const unreadable = `expected a JSON object, got ${kind}`
    expect(parseArguments(text, false)).toEqual({ input: {}, raw: text, unreadable })
  })

  test.each(['ls -la', '<cmd>ls</cmd>', '{"a":1}{"b":2}', '{"a":1}\n{"b":2}', '```', ': : :'])('%j', async (text) => {
    expect(parseArguments(text, false)).toEqual({ input: {}, raw: text, unreadable: expect.any(String) })
  })

  test.each(['{"n": 1e999}', '{"list": [0, -1e999]}', '{"n": 1e999,}'])('%s: JSON knows no Infinity', async (text) => {
    expect(parseArguments(text, false)).toEqual({ input: {}, raw: text, unreadable: expect.any(String) })
  })

  test('a depth of 100 is read, a deeper one is not', () => {
    expect(parseArguments(nested(100), false)).toEqual({ input: JSON.parse(nested(100)) })
    const unreadable = 'nested deeper than 100 levels'
    expect(parseArguments(nested(101), false)).toEqual({ input: {}, raw: nested(101), unreadable })
  })

  test.each([
    ['valid JSON', nested(20_000)],
    ['JSON with a slip', nested(20_000).replace(/}$/, ',}')],
    ['JSON that was cut', nested(20_000).slice(0, 90_000)],
  ])('%s of depth 20,000 overflows nothing', async (_, text) => {
    const { input, raw, unreadable } = parseArguments(text, false)
    expect(input).toEqual({})
    expect(raw === text).toBe(true)
    expect(typeof unreadable).toBe('string')
  })

  test('no text at all makes it throw', async () => {
    const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.json(), fc.stringMatching(/^[{}[\]"':,\\a1 ]*$/))
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        const { input, unreadable } = parseArguments(text, false)
        expect(typeof input).toBe('object')
        if (unreadable !== undefined) expect(input).toEqual({})
      }),
    )
  })
})

describe('half a surrogate pair', () => {
  test.each([
    ['in a value', '{"a":"x\\ud83d"}'],
    ['in a list', '{"a":[{"b":"\\udc00"}]}'],
    ['in the name of a text', '{"k\\ud83d":"x"}'],
    ['in what the service parsed', { a: 'x\ud83d' }],
  ])('is refused: %s', (_, given) => {
    const { input, unreadable } = parseArguments(given, false)
    expect([input, unreadable]).toEqual([{}, expect.stringContaining('half a character')])
  })

  test.each(['{"a":"\ud83d",}', '{"a": x y \ud83d "'])('is repaired in the text that is kept', async (text) => {
    const { raw } = parseArguments(text, false)
    expect(raw).toBe(text.toWellFormed())
  })
})

describe('through an agent', () => {
  test('A085 a repaired call runs, and validation:coerce shows the repair', async () => {
    const { ran, hooks, turns } = await play({ inputs: ["{'n': '5',}"], properties: { n: { type: 'number' } } })
    const coercions = [
      { property: '', from: 'malformed JSON', to: 'object' },
      { property: 'n', from: 'string', to: 'number' },
    ]
    expect(hooks).toEqual([['validation:coerce', coercions]])
    expect(ran).toEqual([{ n: 5 }])
    const call = turns[1]?.content[0] as ToolCallBlock
    expect(call).toEqual({ type: 'tool_call', id: 'c1', name: 'save', input: { n: '5' }, raw: "{'n': '5',}" })
  })

  test('A085 the schema of the tool tells where texts without quotes end', async () => {
    const properties = { path: { type: 'string' }, n: { type: 'number' } }
    const { ran, turns } = await play({ inputs: ['{path: a b, n: 5}', '{path: a, other: 5}'], properties })
    expect(ran).toEqual([{ path: 'a b', n: 5 }])
    expect(turns[1]?.content).toMatchObject([
      { input: { path: 'a b', n: 5 } },
      { input: {}, unreadable: expect.stringContaining('position 8') },
    ])
  })

  test('A079 an unreadable call is answered and not executed, and the run goes on', async () => {
    const { ran, hooks, answers, turns } = await play({ inputs: ['{"n": 5'] })
    expect(ran).toEqual([])
    expect(answers[0]).toMatch(/^Validation error: the arguments could not be read: .*cut off. Send one JSON object$/)
    expect(hooks).toEqual([['validation:reject', answers[0]?.replace('Validation error: ', '')]])
    expect(texts(turns).at(-1)).toBe('assistant: done')
  })

  test('a reply that hit the output limit in the middle of a call runs only the calls before it', async () => {
    const { ran, answers } = await play({ inputs: ['{"n":1}', '{"n":2}'], stop: 'length' })
    expect(ran).toEqual([{ n: 1 }])
    expect(answers[0]).toBe('saved')
    expect(answers[1]).toMatch(/^Validation error: .*output limit/)
  })

  test('an object of the service that is deeper than the stack is answered, not fatal', async () => {
    const { ran, answers } = await play({ inputs: [deepObject(20_000)] })
    expect(ran).toEqual([])
    expect(answers[0]).toMatch(/^Validation error: .*nested deeper than 100 levels/)
  })

  test('a JSON text that is repaired into a list deeper than the stack is answered, not fatal', async () => {
    const list = '['.repeat(20_000) + ']'.repeat(20_000)
    const { ran, answers } = await play({ inputs: [{ list }], properties: { list: { type: 'array' } } })
    expect(ran).toEqual([])
    expect(answers[0]).toMatch(/^Validation error: /)
  })
})

interface Played {
  readonly inputs: readonly ReplyToolCall['input'][]
  readonly properties?: JsonSchema
  readonly stop?: StopReason
}

/** Lets a model call the tool `save` with each of the inputs, in one reply. */
async function play({ inputs, properties = {}, stop = 'tool_use' }: Played) {
  const ran: unknown[] = []
  const hooks: unknown[] = []
  const content = inputs.map((input, i): ReplyToolCall => ({ type: 'tool_call', id: `c${i + 1}`, name: 'save', input }))
  const reply: ModelEvent = { type: 'reply', content, usage: { input: 1, output: 1 }, stop }
  const save = tool('save', (input) => {
    ran.push(input)
    return 'saved'
  })
  const spec = { ...save.spec, inputSchema: { type: 'object', properties } }
  const agent = assembleAgent({ provider: scripted([reply], 'done'), tools: { save: { ...save, spec } } })
  agent.hooks.hook('validation:coerce', ({ coercions }) => void hooks.push(['validation:coerce', coercions]))
  agent.hooks.hook('validation:reject', ({ error }) => void hooks.push(['validation:reject', error]))
  await agent.run({ prompt: 'go' })
  return { ran, hooks, turns: agent.turns, answers: answersIn(agent.turns) }
}

function answersIn(turns: readonly Message[]): string[] {
  const blocks = turns.flatMap((turn) => turn.content)
  return blocks.flatMap((block) => (block.type === 'tool_result' ? [String(block.output)] : []))
}

const nested = (depth: number): string => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`

function deepObject(depth: number): Record<string, unknown> {
  let value: Record<string, unknown> = {}
  for (let i = 1; i < depth; i++) value = { a: value }
  return value
}
