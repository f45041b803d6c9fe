import { describe, expect, test } from 'vitest'
import { type AgentOptions, type Behavior, createAgent, createSession } from '../../src/index.ts'
import { call, type Step, scripted, texts, tool } from '../../src/testing/index.ts'

describe('calls per tool and run', () => {
  test('A103 the call after the last one the budget allows is blocked', async () => {
    const { results, executed } = await lookUp(['a', 'b', 'c', 'd'], {
      toolBudgets: { lookup: { max: 3, onExceed: 'block' } },
    })
    expect(results).toEqual([
      'found a',
      'found b',
      'found c',
      'Blocked: lookup may be called 3 times per run, and that is used up',
    ])
    expect(executed).toEqual(['a', 'b', 'c'])
  })

  test('A103 a budget is for one run, and only for the tool it names', async () => {
    const provider = scripted(
      [ask('1', 'a'), call('2', 'other')],
      [ask('3', 'b')],
      'done',
      [ask('4', 'c')],
      'done again',
    )
    const tools = { lookup: lookup(), other: tool('other', () => 'untouched') }
    const agent = createAgent({ provider, tools, behavior: { toolBudgets: { lookup: { max: 1, onExceed: 'block' } } } })
    await agent.run({ prompt: 'go' })
    await agent.run({ prompt: 'again' })
    expect(resultsOf(provider.requests.at(-1)!.messages)).toEqual([
      'found a',
      'untouched',
      expect.stringMatching(/^Blocked: /),
      'found c',
    ])
  })

  test('A104 steering lets the calls run and speaks to the model once per tool and run', async () => {
    const { results, executed, provider } = await lookUp(['a', 'b', 'c'], {
      toolBudgets: { lookup: { max: 1, onExceed: 'steer' } },
    })
    expect(results).toEqual(['found a', 'found b', 'found c'])
    expect(executed).toEqual(['a', 'b', 'c'])
    const nudge = 'user: [lookup may be called 1 time per run, and that is used up. Finish with what you know now.]'
    expect(texts(provider.requests.at(-1)!.messages).filter((text) => text === nudge)).toHaveLength(1)
    expect(texts(provider.requests[2]!.messages).at(-1)).toBe(nudge)
  })

  test('A104 each tool has a nudge of its own, and the next run has it again', async () => {
    const budget = { max: 0, onExceed: 'steer' } as const
    const provider = scripted([call('1', 'x'), call('2', 'y')], 'done', [call('3', 'x')], 'done')
    const tools = { x: tool('x', () => 'ran'), y: tool('y', () => 'ran') }
    const agent = createAgent({ provider, tools, behavior: { toolBudgets: { x: budget, y: budget } } })
    await agent.run({ prompt: 'go' })
    await agent.run({ prompt: 'again' })
    expect(texts(agent.turns).filter((text) => text.startsWith('user: ['))).toEqual([
      expect.stringMatching(/^user: \[x may be called 0 times .*\] \[y may be called 0 times .*\]$/),
      expect.stringMatching(/^user: \[x may be called 0 times/),
    ])
  })

  test('A105 a function decides between blocking and steering and finds the words', async () => {
    const { results, provider } = await lookUp(['a', 'b', 'c'], {
      toolBudgets: {
        lookup: {
          max: 1,
          onExceed: ({ tool, count, max }) =>
            count === 1
              ? { mode: 'steer', message: `${tool} ${count}/${max}` }
              : { mode: 'block', message: 'enough now' },
        },
      },
    })
    expect(results).toEqual(['found a', 'found b', 'Blocked: enough now'])
    expect(texts(provider.requests.at(-1)!.messages)).toContain('user: lookup 1/1')
  })

  test('A106 a budget holds inside one concurrent batch', async () => {
    const executed: string[] = []
    const words = ['a', 'b', 'c', 'd', 'e']
    const provider = scripted(
      words.map((word, i) => ask(`${i}`, word)),
      'done',
    )
    const agent = createAgent({
      provider,
      tools: { lookup: { ...lookup(executed), isConcurrencySafe: true } },
      behavior: { toolBudgets: { lookup: { max: 3, onExceed: 'block' } } },
    })
    await agent.run({ prompt: 'go' })
    const blocked = expect.stringMatching(/^Blocked: /)
    expect(resultsOf(agent.turns)).toEqual(['found a', 'found b', 'found c', blocked, blocked])
    expect(executed).toEqual(['a', 'b', 'c'])
  })

  test('A107 tool-budget:exceeded says which tool, how often, how often at most, when, and what was done', async () => {
    const seen: unknown[] = []
    const turnIds: string[] = []
    await lookUp(
      ['a', 'b', 'c'],
      { toolBudgets: { lookup: { max: 2, onExceed: 'block' } } },
      {
        hooks: {
          'tool:gate': ({ turnId }) => void turnIds.push(turnId),
          'tool-budget:exceeded': (ctx) => void seen.push(ctx),
        },
      },
    )
    expect(seen).toEqual([{ tool: 'lookup', count: 2, max: 2, turnId: turnIds[2], mode: 'block' }])
  })

  test('A107 a call that a consumer blocked is not the budget’s to judge', async () => {
    const seen: unknown[] = []
    const { results } = await lookUp(
      ['a'],
      { toolBudgets: { lookup: { max: 0, onExceed: 'block' } } },
      {
        hooks: {
          'tool:gate': (gate) => void Object.assign(gate, { block: true, reason: 'policy' }),
          'tool-budget:exceeded': (ctx) => void seen.push(ctx),
        },
      },
    )
    expect(results).toEqual(['Blocked: policy'])
    expect(seen).toEqual([])
  })

  test('the counts that a gate sees include the call before it, also one of the same turn', async () => {
    const counts: unknown[] = []
    const agent = createAgent({
      provider: scripted([ask('1', 'a'), ask('2', 'b')], 'done'),
      tools: { lookup: lookup() },
      hooks: { 'tool:gate': ({ runToolCounts }) => void counts.push(runToolCounts) },
    })
    await agent.run({ prompt: 'go' })
    expect(counts).toEqual([{}, { lookup: 1 }])
  })

  test('turn:after knows the calls of the turns before', async () => {
    const counts: unknown[] = []
    await lookUp(['a', 'b'], {}, { hooks: { 'turn:after': ({ toolCounts }) => void counts.push(toolCounts) } })
    expect(counts).toEqual([{}, { lookup: 1 }, { lookup: 2 }])
  })
})

describe('equal calls', () => {
  test('A101 an exhausted budget beats a result that could be replayed', async () => {
    const { results } = await lookUp(
      ['a', 'a', 'a'],
      { dedupTools: byWord, toolBudgets: { lookup: { max: 2, onExceed: 'block' } } },
      { session: await createSession() },
    )
    expect(results).toEqual(['found a', 'found a', expect.stringMatching(/^Blocked: /)])
  })

  test('A108 an equal call gets the earlier result without running', async () => {
    const { results, executed } = await lookUp(['a', 'a'], { dedupTools: byWord }, { session: await createSession() })
    expect(results).toEqual(['found a', 'found a'])
    expect(executed).toEqual(['a'])
  })

  test('A108 a replay is the result as it was, also when a hook changes results', async () => {
    const { results, executed } = await lookUp(
      ['a', 'a', 'a'],
      { dedupTools: byWord },
      {
        session: await createSession(),
        hooks: { 'tool:transform': (ctx) => void (ctx.result = `checked: ${ctx.result}`) },
      },
    )
    expect(executed).toEqual(['a'])
    expect(results).toEqual(['checked: found a', 'checked: found a', 'checked: found a'])
  })

  test('A108 a failure is never replayed', async () => {
    let tries = 0
    const flaky = tool('lookup', () => {
      if (++tries === 1) throw new Error('offline')
      return 'found at last'
    })
    const { results } = await lookUp(
      ['a', 'a', 'a'],
      { dedupTools: byWord },
      { session: await createSession(), tools: { flaky } },
    )
    expect(results).toEqual(['Tool error: offline', 'found at last', 'found at last'])
    expect(tries).toBe(2)
  })

  test('A108 the session remembers over runs and agents', async () => {
    const session = await createSession()
    await lookUp(['a'], { dedupTools: byWord }, { session })
    const { executed } = await lookUp(['a'], { dedupTools: byWord }, { session })
    expect(executed).toEqual([])
  })

  test.each([
    ['undefined', undefined],
    ['an empty text', ''],
    ['no text', 7],
  ])('A109 a hasher that gives %s leaves the call alone', async (_, hash) => {
    const { executed } = await lookUp(
      ['a', 'a'],
      { dedupTools: { lookup: () => hash } },
      { session: await createSession() },
    )
    expect(executed).toEqual(['a', 'a'])
  })

  test('A110 only the latest result of a tool is kept', async () => {
    const { executed } = await lookUp(['a', 'b', 'a'], { dedupTools: byWord }, { session: await createSession() })
    expect(executed).toEqual(['a', 'b', 'a'])
  })

  test('A111 a replay counts like a call', async () => {
    const counts: unknown[] = []
    const { executed } = await lookUp(
      ['a', 'a', 'b'],
      { dedupTools: byWord },
      {
        session: await createSession(),
        hooks: { 'tool:gate': ({ runToolCounts }) => void counts.push(runToolCounts) },
      },
    )
    expect(executed).toEqual(['a', 'b'])
    expect(counts).toEqual([{}, { lookup: 1 }, { lookup: 2 }])
  })

  test('A112 without a session nothing is replayed', async () => {
    const { executed } = await lookUp(['a', 'a'], { dedupTools: byWord })
    expect(executed).toEqual(['a', 'a'])
  })
})

describe('bytes per turn', () => {
  test('A113 too much output in one turn adds one bracketed message and cuts nothing', async () => {
    const exceeded: unknown[] = []
    const provider = scripted([ask('1', 'é'), ask('2', 'b')], [ask('3', 'c')], 'done')
    const agent = createAgent({
      provider,
      tools: { lookup: lookup() },
      behavior: { toolOutputBudget: 14 },
      hooks: { 'budget:exceeded': (ctx) => void exceeded.push(ctx) },
    })
    await agent.run({ prompt: 'go' })
    const note =
      'user: [Tool output budget exceeded: 15 bytes came back in this turn, the cap is 14. Summarise what matters before calling more tools.]'
    expect(texts(provider.requests[1]!.messages).slice(-2)).toEqual(['user: ←found é ←found b', note])
    expect(texts(provider.requests[2]!.messages).at(-1)).toBe('user: ←found c')
    expect(exceeded).toEqual([{ turn: 1, turnId: agent.turns[1]!.id, bytes: 15, budget: 14 }])
  })

  test('A113 output that just fits is not remarked on', async () => {
    const { provider } = await lookUp(['a'], { toolOutputBudget: 7 })
    expect(texts(provider.requests[1]!.messages).at(-1)).toBe('user: ←found a')
  })

  test('A114 what counts is the output after hooks have cut it', async () => {
    const exceeded: unknown[] = []
    const { provider } = await lookUp(
      ['a long word'],
      { toolOutputBudget: 5 },
      {
        hooks: {
          'tool:transform': (ctx) => void (ctx.result = String(ctx.result).slice(0, 5)),
          'budget:exceeded': (ctx) => void exceeded.push(ctx),
        },
      },
    )
    expect(texts(provider.requests[1]!.messages).at(-1)).toBe('user: ←found')
    expect(exceeded).toEqual([])
  })
})

const byWord = { lookup: (input: Readonly<Record<string, unknown>>) => input.word }

const ask = (id: string, word: string) => call(id, 'lookup', { word })

const lookup = (executed: string[] = []) =>
  tool('lookup', ({ word }) => {
    executed.push(word)
    return `found ${word}`
  })

/** Runs an agent whose model looks the words up one per turn. */
async function lookUp(words: readonly string[], behavior: Behavior, more: Partial<AgentOptions> = {}) {
  const executed: string[] = []
  const steps: Step[] = words.map((word) => [ask(`call-${word}`, word)])
  const provider = scripted(...steps, 'done')
  const agent = createAgent({ provider, tools: { lookup: lookup(executed) }, behavior, ...more })
  await agent.run({ prompt: 'go' })
  return { provider, executed, results: resultsOf(provider.requests.at(-1)!.messages) }
}

const resultsOf = (messages: Parameters<typeof texts>[0]) =>
  messages.flatMap(({ content }) => content.flatMap((block) => (block.type === 'tool_result' ? [block.output] : [])))
