import { describe, expect, test } from 'vitest'
import { AgentRateLimitError } from '../core/errors.ts'
import type { Provider } from '../core/provider.ts'
import type { ToolDef } from '../core/tool.ts'
import { createAgent, createSession } from '../index.ts'
import {
  call,
  fakeClock,
  type Recorder,
  type Replay,
  ReplayError,
  record,
  replay,
  scripted,
  texts,
  tool,
} from './index.ts'

interface Setting {
  readonly provider: Provider
  readonly tools?: Record<string, ToolDef>
  readonly system?: string
  readonly prompt?: string
}

async function run(tape: Recorder | Replay, { provider, tools = {}, system = '', prompt = 'Go.' }: Setting) {
  const agent = createAgent({
    provider: tape.provider(provider),
    tools: tape.tools(tools),
    clock: tape.clock(),
    newId: tape.ids(),
    system,
  })
  await agent.run({ prompt })
  return agent
}

const never = scripted()
const add = tool('add', ({ a, b }: { a: number; b: number }) => a + b)
const adding = (b = 2): Provider => scripted([call('1', 'add', { a: 1, b })], 'It is 3.')

async function recorded(setting: Setting, tape = record()): Promise<string> {
  await run(tape, setting)
  return tape.cassette()
}

async function failing(work: Promise<unknown>): Promise<ReplayError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(ReplayError)
  return error as ReplayError
}

describe('a replay', () => {
  test('asks no model and runs no tool', async () => {
    let runs = 0
    const count = tool('count', () => ({ output: `${++runs}`, details: { runs } }))
    const cassette = await recorded({ provider: scripted([call('1', 'count')], 'Once.'), tools: { count } })
    const played = replay(cassette)
    const agent = await run(played, { provider: never, tools: { count } })
    expect(texts(agent.turns).slice(2)).toEqual(['user: ←1', 'assistant: Once.'])
    expect([runs, never.requests.length]).toEqual([1, 0])
    played.done()
  })

  test('names the line of the system prompt that was changed', async () => {
    const system = 'Be kind.\nBe brief.\nBe right.'
    const cassette = await recorded({ provider: adding(), tools: { add }, system })
    const other = { provider: never, tools: { add }, system: system.replace('brief', 'long') }
    const played = replay(cassette)
    const error = await failing(run(played, other))
    expect(error).toMatchObject({ step: 1, field: 'system', line: 2 })
    expect(error.message).toContain('differs from the recording at step 1, in system, line 2:')
    expect(error.message).toContain('-Be brief.\n+Be long.')
    expect(() => played.done()).toThrow(error)
  })

  test('shows a difference without the secrets beside it', async () => {
    const system = 'The word is open-sesame.\nBe brief.'
    const tape = record({ secrets: ['open-sesame'] })
    const cassette = await recorded({ provider: adding(), tools: { add }, system }, tape)
    const other = system.replace('brief', 'long')
    const error = await failing(run(replay(cassette), { provider: never, tools: { add }, system: other }))
    expect(error).toMatchObject({ field: 'system', line: 2 })
    expect(error.message).toContain(' The word is [REDACTED:1].\n-Be brief.\n+Be long.')
    expect(error.message).not.toContain('sesame')
  })

  test('shows a line that differs without the secret in it', async () => {
    const system = 'The word is open-sesame. Be brief.'
    const tape = record({ secrets: ['open-sesame'] })
    const cassette = await recorded({ provider: adding(), tools: { add }, system }, tape)
    const other = { provider: never, tools: { add }, system: system.replace('brief', 'long') }
    const error = await failing(run(replay(cassette), other))
    expect(error.message).toContain('-The word is [REDACTED:1]. Be brief.\n+The word is [REDACTED:1]. Be long.')
  })

  test('takes nothing but a text for a secret', async () => {
    const tools = { add: tool('add', () => 'done') }
    const provider = scripted([call('1', 'add', { apiKey: 'plain-text-key-1', z: 'last' })], 'fin')
    const cassette = await recorded({ provider, tools })
    const more = cassette.replace(
      '"input":{"apiKey":"[REDACTED:1]","z":"last"}}\n',
      '"input":{"apiKey":"[REDACTED:1]"}}\n',
    )
    expect(more).not.toBe(cassette)
    // As one text `{"apiKey":"…","z":"last"}` would be like the recorded `{"apiKey":"…"}`.
    expect(await failing(run(replay(more), { provider: never, tools }))).toMatchObject({ field: 'its input' })
  })

  test('names a difference in what a tool with a child agent writes into the log', async () => {
    let noted = 'one'
    const ask = tool('ask', async (_, ctx) => {
      await ctx.log.append({ type: 'state', owner: 'ask', value: noted })
      return (await (await ctx.createChild()).run({ prompt: 'Sub.' })).text
    })
    const provider = scripted([call('1', 'ask')], 'From the child.', 'fin')
    const cassette = await recorded({ provider, tools: { ask } })
    await run(replay(cassette), { provider: never, tools: { ask } })
    noted = 'two'
    const played = replay(cassette)
    await run(played, { provider: never, tools: { ask } }).catch(() => {})
    expect(() => played.done()).toThrow(/in what it appends to the log, line \d+:[\s\S]*-.*"one"[\s\S]*\+.*"two"/)
  })

  test.each([
    ['the prompt', { prompt: 'Stop.' }, { step: 1, field: 'messages[0]' }],
    ['the tools', { tools: { add, more: tool('more', () => '') } }, { step: 1, field: 'tools[1]' }],
  ])('names a difference in %s', async (_, change, where) => {
    const cassette = await recorded({ provider: adding(), tools: { add } })
    const error = await failing(run(replay(cassette), { provider: never, tools: { add }, ...change }))
    expect(error).toMatchObject(where)
  })

  test('names a difference in the input of a tool', async () => {
    const cassette = (await recorded({ provider: adding(), tools: { add } })).replace(
      '"input":{"a":1,"b":2}}\n',
      '"input":{"a":1,"b":7}}\n',
    )
    const error = await failing(run(replay(cassette), { provider: never, tools: { add } }))
    expect(error).toMatchObject({ field: 'its input', line: 3 })
    expect(error.message).toContain('-  "b": 7\n+  "b": 2\n')
    expect(error.message).toContain('call 1 of tool "add"')
  })

  test('says when the recording has less, and when it has more', async () => {
    const cassette = await recorded({ provider: adding(), tools: { add } })
    const longer = replay(cassette)
    const agent = await run(longer, { provider: never, tools: { add } })
    expect((await failing(agent.run({ prompt: 'And now?' }))).message).toContain('went further than the recording')

    const unused = replay(cassette)
    expect(() => unused.done()).toThrow(/Not used: .*model request 1/)
  })

  test('fails after its stall timeout if a reading is left out', async () => {
    const tape = record()
    const clock = tape.clock()
    const provider: Provider = {
      ...scripted('Hi.'),
      stream(request, signal) {
        clock.now()
        return scripted('Hi.').stream(request, signal)
      },
    }
    const cassette = await recorded({ provider }, tape)
    const error = await failing(run(replay(cassette, { stallTimeoutMs: 20 }), { provider: never }))
    expect(error.message).toContain('stands still: in the recording')
  })

  test('fails as the model failed', async () => {
    const limited = new AgentRateLimitError('slow down', { provider: 'scripted', providerCode: '429', retryable: true })
    limited.retryAt = 1234
    const tape = record()
    await expect(run(tape, { provider: scripted(limited) })).rejects.toBe(limited)
    const again = run(replay(tape.cassette()), { provider: never })
    await expect(again).rejects.toBeInstanceOf(AgentRateLimitError)
    await expect(again).rejects.toMatchObject({
      message: 'slow down',
      providerCode: '429',
      retryable: true,
      retryAt: 1234,
    })
  })

  test('a time limit that was reached is reached again, without waiting', async () => {
    const real = fakeClock(5)
    const tape = record()
    const sleep = tool('sleep', () => new Promise(() => {}))
    const agent = createAgent({
      provider: tape.provider(scripted([call('1', 'sleep')], 'It never answered.')),
      tools: tape.tools({ sleep }),
      clock: tape.clock(real),
      newId: tape.ids(),
    })
    const running = agent.run({ prompt: 'Go.' })
    for (let i = 0; i < 100 && real.pending === 0; i++) await real.advance(0)
    await real.advance(30_000)
    await running
    const played = await run(replay(tape.cassette()), { provider: never, tools: { sleep } })
    expect(texts(played.turns)[2]).toContain('it took longer than 30000 ms')
    expect(played.turns).toEqual(agent.turns)
  })

  test('the same request in two sessions gets the answer of its own session', async () => {
    const tape = record()
    const asked = {
      model: 'm',
      system: '',
      messages: [],
      tools: [],
      maxTokens: 1,
      thinking: 'off',
      cache: false,
    } as const
    const ask = async (provider: Provider, sessionId: string): Promise<unknown> => {
      for await (const event of provider.stream({ ...asked, sessionId }, new AbortController().signal))
        if (event.type === 'reply') return event.content[0]
    }
    const provider = tape.provider(scripted('I am one.', 'I am two.'))
    const [one, two] = [await ask(provider, 'one'), await ask(provider, 'two')]
    const played = replay(tape.cassette()).provider()
    expect(await Promise.all([ask(played, 'two'), ask(played, 'one')])).toEqual([two, one])
  })

  test('what a tool says before a call, and does through its context, comes again', async () => {
    let world = 'old'
    const outer = tool('outer', async (_, ctx) => `${(await ctx.call('inner', { a: 1 })).output} and ${world}`, {
      before: async () => ({ found: world }),
    })
    const inner = tool('inner', async (_, ctx) => {
      await ctx.log.append({ type: 'state', owner: 'inner', value: { world } })
      return world
    })
    const seen: unknown[] = []
    const story = async (tape: Recorder | Replay): Promise<string> => {
      const agent = createAgent({
        provider: tape.provider(scripted([call('1', 'outer')], 'fin')),
        tools: tape.tools({ outer, inner }),
        clock: tape.clock(),
        newId: tape.ids(),
        hooks: { 'tool:before': (ctx) => void seen.push((ctx as { found?: unknown }).found) },
      })
      const entries: unknown[] = []
      agent.log.subscribe((entry) => entries.push(entry))
      await agent.run({ prompt: 'Go.' })
      return JSON.stringify(entries)
    }
    const tape = record()
    const recordedLog = await story(tape)
    expect(recordedLog).toContain('"output":"old and old"')
    world = 'new'
    expect(await story(replay(tape.cassette()))).toBe(recordedLog)
    expect(seen).toEqual(['old', undefined, 'old', undefined])
  })

  test('chance and prices come from the tape', async () => {
    const tape = record()
    const dice = tape.random()
    const priced: Provider = { ...scripted('Hi.'), costOf: () => 0.25, contextWindow: async () => 1000 }
    const provider = tape.provider(priced)
    const thrown = [dice(), dice()]
    expect([provider.costOf?.('m', { input: 1, output: 2 }), await provider.contextWindow?.('m')]).toEqual([0.25, 1000])
    const played = replay(tape.cassette())
    const again = played.random()
    const other = played.provider()
    expect([again(), again()]).toEqual(thrown)
    expect([other.costOf?.('m', { output: 2, input: 1 }), await other.contextWindow?.('m')]).toEqual([0.25, 1000])
    expect(other.meta).toEqual(priced.meta)
  })

  test('until and then go together', () => {
    expect(() => replay('', { until: 1 })).toThrow('belong together')
    expect(() => replay('', { until: -1, goOnWith: never })).toThrow('must be a number of model requests')
  })
})

describe('a cassette', () => {
  test('holds no secret, wherever it was, and still plays', async () => {
    const key = 'sk-ant-api03-abcdefghijklmnop1234567890'
    const password = 'correct-horse-9'
    const variable = 'from-the-environment-77'
    const leak = tool('leak', () => `DB_PASSWORD=${password}\nand again ${password}, ${variable}, house-word`)
    const provider = scripted([call('1', 'leak', { apiKey: 'plain-text-key-1' })], `Your key is ${key}, ${password}.`)
    const tape = record({ secrets: ['house-word'], env: { MY_TOKEN: variable, HOME: '/home/me' } })
    const setting = { tools: { leak }, system: `The key is ${key}.`, prompt: `Authorization: Bearer abcdef0123456789` }
    await run(tape, { provider, ...setting })
    const cassette = tape.cassette()
    for (const secret of [key, password, variable, 'house-word', 'plain-text-key-1', 'abcdef0123456789'])
      expect(cassette).not.toContain(secret)
    // Not in pieces either: the model said the key eight characters at a time.
    const deltas = [...cassette.matchAll(/"delta":"([^"]*)"/g)].map((match) => match[1]).join('')
    expect(deltas).toContain('Your key is [REDACTED:')
    expect(deltas).not.toContain('abcdefghijkl')
    const inSystem = cassette.match(/"system":"The key is (\[REDACTED:\d+\])/)?.[1]
    expect(deltas).toContain(`key is ${inSystem},`)

    const played = replay(cassette)
    const other = { ...setting, system: 'The key is sk-another-key-of-another-user-1.' }
    const agent = await run(played, { provider: never, ...other })
    expect(texts(agent.turns).at(-1)).toMatch(/^assistant: Your key is \[REDACTED:\d+\], \[REDACTED:\d+\]\.$/)
    played.done()
  })

  test('holds no secret of a header, an address, an error, or the name of a session, spelled in whatever way', async () => {
    const secrets = [
      'house-word-42',
      'url-word-1',
      'error-word-2',
      'opaque-3',
      'cookie-4',
      'deep-word-5',
      'said-word-6',
      btoa('house-word-42'),
    ]
    const leak = tool('leak', ({ mayFail }: { mayFail?: boolean }, ctx) => {
      ctx.progress('API_TOKEN=said-word-6')
      if (mayFail) throw Object.assign(new Error('https://me:error-word-2@a.test'), { code: 'x://y:error-word-2@z' })
      const headers = { authorization: 'opaque-3', cookie: ['cookie-4'] }
      const details = { headers, list: [{ inner: { client_secret: 'deep-word-5' } }] }
      return { output: `postgres://me:url-word-1@a.test/db ${btoa('me:house-word-42')}`, details }
    })
    const steps = [
      [call('1', 'leak', { headers: { 'x-api-key': 'opaque-3' } })],
      [call('2', 'leak', { mayFail: true })],
    ]
    const provider = scripted(...steps, `I saw ${secrets.join(', ')}.`)
    const play = async (tape: Recorder | Replay, model: Provider): Promise<void> => {
      const [clock, newId] = [tape.clock(), tape.ids()]
      const session = await createSession({ id: 'of house-word-42', clock, newId })
      const parts = { provider: tape.provider(model), tools: tape.tools({ leak }), clock, newId, session }
      await createAgent(parts).run({ prompt: 'Go.' })
    }
    const tape = record({ secrets: ['house-word-42'], env: {} })
    await play(tape, provider)
    const cassette = tape.cassette()
    const deltas = [...cassette.matchAll(/"delta":"([^"]*)"/g)].map((match) => match[1]).join('')
    for (const secret of secrets) expect([cassette, deltas].join().split(secret).length, secret).toBe(1)
    const played = replay(cassette)
    await play(played, never)
    played.done()
  })

  test('is small: a request says only what is new', async () => {
    const steps = Array.from({ length: 50 }, (_, i) => [call(`${i}`, 'add', { a: i, b: 1 })])
    const cassette = await recorded({ provider: scripted(...steps, 'fin'), tools: { add }, system: 'x'.repeat(1000) })
    expect(cassette.length).toBeLessThan(60_000)
    expect(cassette.split('x'.repeat(1000)).length).toBe(2)
  })

  test('does not change with what is done to the values later', async () => {
    const details = { list: [1] }
    const tape = record()
    await run(tape, {
      provider: scripted([call('1', 'give')], 'fin'),
      tools: { give: tool('give', () => ({ output: 'here', details })) },
    })
    details.list.push(2)
    expect(tape.cassette()).toContain('"details":{"list":[1]}')
  })

  describe('that is damaged says where', () => {
    const whole = recorded({ provider: adding(), tools: { add } })

    test('cut off in a line', async () => {
      const cassette = (await whole).slice(0, -30)
      const lines = cassette.split('\n').length
      expect(() => replay(cassette)).toThrow(`damaged at line ${lines}: the file was cut off in the middle of it`)
    })

    test('cut off between lines', async () => {
      const lines = (await whole).split('\n').slice(0, -4)
      expect(() => replay(`${lines.join('\n')}\n`)).toThrow(
        `damaged at line ${lines.length}: the line of type "end" is missing`,
      )
    })

    test.each([
      [3, 'garbage', 'it is no JSON'],
      [4, '{"type":"nonsense"}', 'there is no type "nonsense"'],
      [5, '{"type":"events","n":77,"events":[]}', 'there is no request 77 before it'],
      [6, '{"type":"reads","values":7}', 'reads.values must be a list'],
      [1, '{}', 'a cassette begins with'],
    ])('garbled in line %i: %s', async (at, line, why) => {
      const lines = (await whole).split('\n')
      lines[at - 1] = line
      expect(() => replay(lines.join('\n'))).toThrow(`damaged at line ${at}: ${why}`)
    })

    test('written by a newer version', () => {
      const cassette = '{"libero":"cassette","version":2}\n'
      expect(() => replay(cassette)).toThrow('The cassette has version 2, this Libero reads up to 1')
    })

    test('a line too few', async () => {
      const lines = (await whole).split('\n')
      const at = lines.findIndex((line) => line.startsWith('{"type":"reads"'))
      lines.splice(at, 1)
      expect(() => replay(lines.join('\n'))).toThrow(/it says there are \d+ lines/)
    })
  })
})
