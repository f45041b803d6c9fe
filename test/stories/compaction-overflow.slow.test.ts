import { describe, expect, test } from 'vitest'
import {
  AgentAbortedError,
  AgentContextExceededError,
  type AgentHookMap,
  AgentPromptTooLongError,
  type Behavior,
  createAgent,
  createMemoryStore,
  createSession,
} from '../../src/index.ts'
import { call, type Step, tool } from '../../src/testing/index.ts'
import type { LogEntry, Message } from '../../src/types.ts'
import { allText, assistant, exchange, type StrictOptions, strictModel, talk, user } from './compaction-kit.ts'

const window = 10_000
const inBytes = window * 3

describe.each(['off', 'tail', 'summary'] as const)(
  'a request that does not fit, with compactStrategy %s',
  (strategy) => {
    // The threshold is out of reach, so that nothing is done before it is refused.
    const behavior: Behavior = { compactStrategy: strategy, compactThreshold: 1e9 }

    test.each([1.2, 3, 20])(
      'FP-08 is made shorter and sent once more, when the history is %f times the window',
      async (times) => {
        const { model, stats, entries, session } = await refused(talk(inBytes * times), { behavior })
        expect(stats.text).toBe('Answered.')
        expect(model.refused).toHaveLength(1)
        expect(model.answers).toHaveLength(1)
        expect(model.summaries.length > 0).toBe(strategy === 'summary')
        expect(entries.filter(isShortening).length).toBeGreaterThan(0)
        expect(session.turns.slice(0, 4).map(({ content }) => content)).toEqual(
          exchange(0, 900).map(({ content }) => content),
        )
      },
    )

    test('FP-08 the same if it is unknown how much would fit', async () => {
      const options = { tellsWindow: false, tellsCounts: false }
      const { model } = await refused(talk(inBytes * 1.2), { behavior, options })
      expect(model.refused).toHaveLength(1)
      expect(model.answers).toHaveLength(1)
    })

    test('FP-08 what the error says of the sizes is enough to go by', async () => {
      const { model } = await refused(talk(inBytes * 10), { behavior, options: { tellsWindow: false } })
      expect(model.refused).toHaveLength(1)
      expect(model.answers).toHaveLength(1)
    })

    test.each([' for claude-sonnet-4-20250514', ' for anthropic/claude@20250514', ' (request 20250514-77)'])(
      'FP-08 a number in a name%s is no size',
      async (named) => {
        const said = { behavior, options: { tellsWindow: false, window: 200_000 } }
        const plain = await refused(talk(640_000, 20_000), said)
        const other = await refused(talk(640_000, 20_000), { ...said, options: { ...said.options, named } })
        const sent = ({ model }: typeof plain): string[] => model.answers.map(allText)
        expect(sent(other)).toEqual(sent(plain))
      },
    )

    test('FP-08 it stays shorter: the next run is not refused', async () => {
      const { model, session } = await refused(talk(inBytes * 2), { behavior })
      await createAgent({ provider: model, session, behavior }).run({ prompt: 'And then?' })
      expect(model.refused).toHaveLength(1)
      expect(model.answers).toHaveLength(2)
    })

    test('FP-08 what is refused again goes out as an error that says what to do', async () => {
      const asked: string[] = []
      const retries: string[] = []
      const answer = (): Step => new Error('too long for ever')
      const hooks: AgentHookMap = {
        'request:overflow': ({ error }) => void asked.push(error.message),
        'stream:retry': ({ reason }) => void retries.push(reason),
      }
      const model = strictModel({ window: 1e9, answer })
      const session = await createSession()
      await session.addTurns(talk(inBytes * 2))
      const run = createAgent({ provider: model, session, behavior, hooks }).run({ prompt: 'And now?' })
      const error = await run.then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      expect(error).toBeInstanceOf(AgentContextExceededError)
      expect(String(error)).toMatch(/too long for ever\. It was made shorter once and still does not fit: use a model/)
      expect(asked).toHaveLength(2)
      expect(retries).toEqual(['the conversation was made shorter'])
      const [first, second, ...more] = model.answers.map(({ messages }) => JSON.stringify(messages))
      expect(more).toEqual([])
      expect(second!.length).toBeLessThan(first!.length) // the doomed request is not sent again
    })

    test('FP-08 nothing is sent again when nothing can be left out', async () => {
      const model = strictModel({ window: 1e9, answer: () => new Error('too long') })
      const run = createAgent({ provider: model, behavior }).run({ prompt: 'Hi.' })
      await expect(run).rejects.toThrow(/Nothing more in it can be left out: use a model/)
      expect(model.answers).toHaveLength(1)
    })

    test('FP-08 each turn of a run may be made shorter once', async () => {
      let left = 30
      const model = strictModel({
        window,
        answer: () => (left-- > 0 ? [call(`c${left}`, 'look', { path: `/${left}` })] : 'Done.'),
      })
      const look = tool('look', () => 'y'.repeat(6000))
      const agent = createAgent({ provider: model, tools: { look }, behavior })
      expect((await agent.run({ prompt: 'Look at everything.' })).text).toBe('Done.')
      expect(model.refused.length).toBeGreaterThan(1)
      expect(model.answers).toHaveLength(31)
    })
  },
)

test('FP-08 old results go first; while that is enough, nothing else is touched', async () => {
  const { entries, model } = await refused(talk(inBytes * 1.2), { behavior: {} })
  expect(entries.filter(({ type }) => type === 'compaction')).toEqual([])
  const said = allText(model.answers[0]!)
  expect(said).toContain('[Result left out to save space: 900 bytes. Call the tool again if you need it.]')
  expect(said).toContain('Question 0')
  expect(said).toContain(String(exchange(31, 900)[2]!.content.map((block) => 'output' in block && block.output)))
})

test('FP-08 a conversation of words becomes a summary by rule', async () => {
  const { entries, model } = await refused(words, { behavior: {} })
  expect(model.summaries).toEqual([])
  expect(entries.filter(({ type }) => type === 'compaction')).toHaveLength(1)
  expect(allText(model.answers[0]!)).toContain('## What the user said\n- Q0 ')
})

describe('T06 a prompt that does not fit by itself is an error that says what would fit, and is not cut', () => {
  const question = `Begin ${'x'.repeat(inBytes * 4)} end?`
  test.each([
    ['before it is sent, where the context is known and summaries are made', { compactStrategy: 'summary' }, {}, 0],
    ['where the service tells the counts', {}, { tellsWindow: false }, 1],
    [
      'where the service tells the counts and summaries are made',
      { compactStrategy: 'summary' },
      { tellsWindow: false },
      1,
    ],
    ['where the context is known and the service tells nothing', {}, { tellsCounts: false }, 1],
  ] as const)('%s', async (_, behavior, options, refusals) => {
    const { model, session, error } = await failed(words, { behavior, options, prompt: question })
    expect(error).toBeInstanceOf(AgentPromptTooLongError)
    expect(error).toMatchObject({ fits: { tokens: expect.closeTo(9000, -2), characters: expect.closeTo(27_000, -3) } })
    expect(String(error)).toMatch(/has about 40,\d{3} tokens, and about 8,9\d\d tokens \(2[67],\d{3} characters\) fit/)
    expect([model.refused.length, model.summaries, model.answers]).toEqual([refusals, [], []])
    expect(session.turns.at(-1)!.content).toEqual(user(question).content)
  })

  test('where the service does not say how much fits', async () => {
    const options = { tellsWindow: false, tellsCounts: false }
    const { model, error } = await failed([], { behavior: { compactStrategy: 'summary' }, options, prompt: question })
    expect(error).toBeInstanceOf(AgentPromptTooLongError)
    expect(String(error)).toContain('and the service does not say how much would fit')
    expect(model.answers).toEqual([])
  })

  test('and the session goes on: the next prompt is answered', async () => {
    const { model, session } = await failed([], { behavior: { compactStrategy: 'summary' }, prompt: question })
    const next = createAgent({ provider: model, session, behavior: { compactStrategy: 'summary' } })
    expect((await next.run({ prompt: 'Then this?' })).text).toBe('Answered.')
    expect(allText(model.answers[0]!)).toContain('Then this?')
  })
})

test.each(['off', 'summary'] as const)(
  'T06 a short conversation that is refused stays as it is (%s)',
  async (compactStrategy) => {
    const history = [user('Hello there.'), assistant('Hi! What can I do for you today?')]
    const options = { answer: () => new Error('too long: 215000 tokens > 200000 maximum') }
    const { model, session, error } = await failed(history, { behavior: { compactStrategy }, options })
    expect(String(error)).toContain('Nothing more in it can be left out')
    expect(model.answers.map(allText)).toEqual([expect.stringContaining('Hello there.')])
    expect(session.pending).toEqual([])
    expect(JSON.stringify(model.answers)).not.toContain('…')
  },
)

test('FP-08 a step that was just summed up and is refused all the same is not summed up by a model again', async () => {
  let isFirst = true
  const answer = (): Step => {
    if (!isFirst) return 'Answered.'
    isFirst = false
    return new Error('too long')
  }
  const { model, entries } = await refused(words, {
    behavior: { compactStrategy: 'summary', compactKeepTurns: 20 },
    options: { answer },
  })
  const summaries = entries.filter(({ type }) => type === 'compaction')
  expect(summaries).toHaveLength(2)
  const [made] = summaries
  expect(entries.some(({ type, seq }) => type === 'usage' && seq > made!.seq)).toBe(false)
  const [first, second] = model.answers.map(({ messages }) => JSON.stringify(messages).length)
  expect(second).toBeLessThan(first! * 0.8)
  expect(allText(model.answers[1]!)).toContain('A short summary.')
})

test('a handler that helps itself is not helped again', async () => {
  let isShort = false
  const hooks: AgentHookMap = {
    'request:overflow': (ctx) => {
      isShort = true
      ctx.retry = true
    },
    'context:transform': (ctx) => {
      if (isShort) ctx.messages = ctx.messages.slice(-1)
    },
  }
  const { model, entries } = await refused(talk(inBytes * 3), { behavior: {}, hooks })
  expect(entries.filter(isShortening)).toEqual([])
  expect(model.answers[0]!.messages).toHaveLength(1)
})

test('an abort before the summary is written leaves everything as it was', async () => {
  const stop = new AbortController()
  const store = createMemoryStore()
  const session = await createSession({ store })
  await session.addTurns(words)
  const hooks: AgentHookMap = { 'compaction:before': () => stop.abort() }
  const agent = createAgent({ provider: strictModel({ window }), session, hooks })
  await expect(agent.run({ prompt: 'And now?', signal: stop.signal })).rejects.toThrow(AgentAbortedError)
  expect((await store.read(session.id)).filter(isShortening)).toEqual([])
})

const words = Array.from({ length: 60 }, (_, i) => [
  user(`Q${i} ${'q'.repeat(400)}`),
  assistant(`A${i} ${'a'.repeat(400)}`),
]).flat()

const isShortening = ({ type }: LogEntry): boolean => type === 'compaction' || type === 'context_edit'

interface Setup {
  readonly behavior: Behavior
  readonly options?: Partial<StrictOptions>
  readonly hooks?: AgentHookMap
  readonly prompt?: string
}

/** The same where the question cannot be answered. */
async function failed(history: readonly Message[], { behavior, options, prompt = 'And now?' }: Setup) {
  const model = strictModel({ window, ...options })
  const session = await createSession()
  if (history.length > 0) await session.addTurns(history)
  const run = createAgent({ provider: model, session, behavior }).run({ prompt })
  const error = await run.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return { model, session, error }
}

/** One more question after a history that is too long for it. */
async function refused(history: readonly Message[], { behavior, options, hooks = {}, prompt = 'And now?' }: Setup) {
  const model = strictModel({ window, ...options })
  const store = createMemoryStore()
  const session = await createSession({ store })
  if (history.length > 0) await session.addTurns(history)
  const stats = await createAgent({ provider: model, session, behavior, hooks }).run({ prompt })
  return { model, session, stats, entries: await store.read(session.id) }
}
