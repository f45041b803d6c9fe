import { describe, expect, test } from 'vitest'
import { hookNames } from '../../src/core/hook-map.ts'
import type { AgentHookMap, AgentOptions, HookContexts, SessionTurn, ToolResultContent } from '../../src/index.ts'
import { createAgent, createMemoryStore, createSession, loadSession, toolOutputByteLength } from '../../src/index.ts'
import { call, scripted, tool } from '../../src/testing/index.ts'

describe('the order of all hooks of one call', () => {
  const run = ['tool:before', 'tool:progress']
  const end = ['tool:transform', 'tool:after']
  test.each([
    ['that runs', call('c1', 'count', { n: 1 }), [...run, ...end]],
    ['that had to be repaired', call('c1', 'count', { n: '1' }), ['validation:coerce', ...run, ...end]],
    ['A087 that throws', call('c1', 'count', { n: 13 }), [...run, 'tool:error', ...end]],
    ['that is invalid', call('c1', 'count', { n: 'x' }), ['validation:reject']],
    ['that is unknown', call('c1', 'cuont', {}), ['tool:unknown', 'tool:error']],
  ])('%s', async (_, one, expected) => {
    const { log } = await play([one])
    expect(log).toEqual(['tool:gate', ...expected, 'tool-results:after'])
  })

  test('that is blocked', async () => {
    const { log } = await play([call('c1', 'count', { n: 1 })], { 'tool:gate': block('no') })
    expect(log).toEqual(['tool:gate', 'tool-results:after'])
  })

  test('A073 that is answered by its gate', async () => {
    const { log } = await play([call('c1', 'count', { n: '1' })], { 'tool:gate': answer('known') })
    expect(log).toEqual(['tool:gate', 'tool:transform', 'tool:after', 'tool-results:after'])
  })
})

describe('the gate', () => {
  test('A070 block answers the call with "Blocked: " and the reason', async () => {
    const { results, ran } = await play([call('c1', 'count', { n: 1 })], { 'tool:gate': block('not today') })
    expect(results).toEqual([{ type: 'tool_result', callId: 'c1', output: 'Blocked: not today', isError: true }])
    expect(ran).toEqual([])
  })

  test('A070 a block without a reason still says something', async () => {
    const { results } = await play([call('c1', 'count', { n: 1 })], { 'tool:gate': block('') })
    expect(results[0]?.output).toBe('Blocked: this call is not allowed')
  })

  test('A071 a blocked call is not counted', async () => {
    const counts = await countsOver(['count', 'count', 'count'], {
      'tool:gate': (ctx) => {
        if (ctx.callId === 'c1') ctx.block = true
      },
    })
    expect(counts).toEqual([{}, {}, { count: 1 }])
  })

  test('A072 a result of the gate skips validation, before and execution', async () => {
    const { results, ran, log } = await play([call('c1', 'count', { n: 'x' })], { 'tool:gate': answer('known') })
    expect(results).toEqual([{ type: 'tool_result', callId: 'c1', output: 'known' }])
    expect(ran).toEqual([])
    expect(log.filter((name) => /validation|before|error/.test(name))).toEqual([])
  })

  test('A073 a result of the gate goes through transform and after, and is counted', async () => {
    const seen: unknown[] = []
    const { results } = await play([call('c1', 'count', { n: 1 })], {
      'tool:gate': answer('known'),
      'tool:transform': (ctx) => {
        seen.push(ctx.result)
        ctx.result = 'well known'
      },
      'tool:after': ({ result }) => void seen.push(result),
    })
    expect(seen).toEqual(['known', 'well known'])
    expect(results[0]?.output).toBe('well known')
    expect(await countsOver(['count', 'count'], { 'tool:gate': answer('known') })).toEqual([{}, { count: 1 }])
  })

  test('A074 block beats result', async () => {
    const { results, log } = await play([call('c1', 'count', { n: 1 })], {
      'tool:gate': [answer('known'), block('no'), answer('known again')],
    })
    expect(results[0]?.output).toBe('Blocked: no')
    expect(log).not.toContain('tool:after')
  })
})

describe('a tool that does not exist', () => {
  test('A075 is answered with "Unknown tool: " and the nearest name', async () => {
    const { results } = await play([call('c1', 'cuont'), call('c2', 'constructor')])
    expect(results).toEqual([
      { type: 'tool_result', callId: 'c1', output: 'Unknown tool: cuont, did you mean "count"?', isError: true },
      { type: 'tool_result', callId: 'c2', output: 'Unknown tool: constructor', isError: true },
    ])
  })

  test('A076 tool:unknown can put another answer in place, and tool:error still fires', async () => {
    const errors: unknown[] = []
    const { results } = await play([call('c1', 'plan')], {
      'tool:unknown': (ctx) => {
        ctx.result = 'Write the plan down instead.'
      },
      'tool:error': ({ error }) => void errors.push(error),
    })
    expect(results[0]?.output).toBe('Write the plan down instead.')
    expect(errors).toEqual([new Error('Unknown tool: plan')])
  })

  test('A077 suppressError keeps tool:error silent, and the answer is no error', async () => {
    const { results, log } = await play([call('c1', 'plan')], {
      'tool:unknown': (ctx) => void Object.assign(ctx, { result: 'Just do it.', suppressError: true }),
    })
    expect(log).toEqual(['tool:gate', 'tool:unknown', 'tool-results:after'])
    expect(results).toEqual([{ type: 'tool_result', callId: 'c1', output: 'Just do it.' }])
  })

  test('A078 unknown and invalid calls are counted', async () => {
    expect(await countsOver(['nope', 'strict', 'count'])).toEqual([{}, { nope: 1 }, { nope: 1, strict: 1 }])
  })
})

describe('validation', () => {
  test('A079 a missing required property is rejected, with validation:reject, and nothing runs', async () => {
    const errors: unknown[] = []
    const { results, ran } = await play([call('c1', 'strict')], {
      'validation:reject': ({ name, error }) => void errors.push([name, error]),
    })
    const error = 'missing required property "word"'
    expect(results).toEqual([
      { type: 'tool_result', callId: 'c1', output: `Validation error: ${error}`, isError: true },
    ])
    expect(errors).toEqual([['strict', error]])
    expect(ran).toEqual([])
  })

  test('A085 execute gets the repaired input, and hooks are told of coercions only then', async () => {
    const seen: unknown[] = []
    const { ran } = await play([call('c1', 'count', { n: '7' }), call('c2', 'count', { n: 8 })], {
      'validation:coerce': ({ callId, coercions, input }) => void seen.push(['coerce', callId, input, coercions]),
      'tool:before': (ctx) => void seen.push(['before', ctx.callId, ctx.input, 'coercions' in ctx, ctx.coercions]),
    })
    const coercions = [{ property: 'n', from: 'string', to: 'number' }]
    expect(ran).toEqual([{ n: 7 }, { n: 8 }])
    expect(seen).toEqual([
      ['coerce', 'c1', { n: 7 }, coercions],
      ['before', 'c1', { n: 7 }, true, coercions],
      ['before', 'c2', { n: 8 }, false, undefined],
    ])
  })
})

describe('errors and transforms', () => {
  test('A087 a throw becomes an error result that went through transform and after', async () => {
    const seen: unknown[] = []
    const { results } = await play([call('c1', 'count', { n: 13 })], {
      'tool:error': ({ error }) => void seen.push(error),
      'tool:transform': ({ result, isError }) => void seen.push([result, isError]),
      'tool:after': ({ result, isError }) => void seen.push([result, isError]),
    })
    const output = 'Tool error: bad luck'
    expect(seen).toEqual([new Error('bad luck'), [output, true], [output, true]])
    expect(results).toEqual([{ type: 'tool_result', callId: 'c1', output, isError: true }])
  })

  test('A088 tool:error can put another text in place; it stays an error', async () => {
    const { results } = await play([call('c1', 'count', { n: 13 })], {
      'tool:error': (ctx) => {
        ctx.result = 'Try another number.'
      },
    })
    expect(results).toEqual([{ type: 'tool_result', callId: 'c1', output: 'Try another number.', isError: true }])
  })

  test('A089 tool:transform changes result and isError, both ways', async () => {
    const { results } = await play([call('c1', 'count', { n: 1 }), call('c2', 'count', { n: 13 })], {
      'tool:transform': (ctx) => {
        ctx.isError = !ctx.isError
        ctx.result = `${ctx.isError ? 'bad' : 'good'}: ${ctx.result}`
      },
    })
    expect(results).toEqual([
      { type: 'tool_result', callId: 'c1', output: 'bad: counted 1', isError: true },
      { type: 'tool_result', callId: 'c2', output: 'good: Tool error: bad luck' },
    ])
  })

  test('A090 outputBytes is the size before in transform, and the size of what is left in after', async () => {
    const seen: unknown[] = []
    const shorten = ({ outputBytes, ...ctx }: HookContexts['tool:transform']) =>
      void seen.push([outputBytes, ctx.result])
    await play([call('c1', 'count', { n: 1 })], {
      'tool:transform': [
        (ctx) => {
          shorten(ctx)
          ctx.result = 'cut'
        },
        shorten,
      ],
      'tool:after': ({ outputBytes, result }) => void seen.push([outputBytes, result]),
    })
    expect(seen).toEqual([
      [9, 'counted 1'],
      [9, 'cut'],
      [3, 'cut'],
    ])
  })

  test.each<[string, string | ToolResultContent[], number]>([
    ['text', 'plain', 5],
    ['text of more than ASCII', 'aß€😀', 1 + 2 + 3 + 4],
    ['an image, as base64', [image('QUJDRA==')], 8],
    ['a mixture', [{ type: 'text', text: 'ä' }, image('QUJD'), { type: 'text', text: '' }], 2 + 4],
    ['nothing', '', 0],
  ])('A091 outputBytes counts %s', async (_, output, bytes) => {
    const seen: number[] = []
    const show = { show: tool('show', () => output) }
    await play([call('c1', 'show')], { 'tool:after': (ctx) => void seen.push(ctx.outputBytes) }, { tools: show })
    expect(seen).toEqual([bytes])
    expect(toolOutputByteLength(output)).toBe(bytes)
  })

  test('A092 for a model that cannot see, an image is a text marker before tool:after', async () => {
    const seen: unknown[] = []
    const show = { show: tool('show', () => [{ type: 'text', text: 'a cat' }, image('QUJD')] as ToolResultContent[]) }
    const provider = scripted([call('c1', 'show')], 'done', { options: { capabilities: { vision: false } } })
    const hooks: AgentHookMap = {
      'tool:transform': ({ result }) => void seen.push(result),
      'tool:after': ({ result, outputBytes }) => void seen.push(result, outputBytes),
    }
    const { results } = await play([], hooks, { tools: show, provider })
    const marker = '[image: image/png, 3 bytes, not shown because this model cannot see images]'
    const blind = [
      { type: 'text', text: 'a cat' },
      { type: 'text', text: marker },
    ]
    expect(seen).toEqual([[blind[0], image('QUJD')], blind, 5 + marker.length])
    expect(results[0]?.output).toEqual(blind)
  })
})

describe('runToolCounts', () => {
  test('A098 is frozen', async () => {
    const frozen: unknown[] = []
    const check = ({ runToolCounts }: { runToolCounts: Readonly<Record<string, number>> }) => {
      const writable = runToolCounts as Record<string, number>
      frozen.push(attempt(() => (writable.count = 0)) instanceof TypeError)
    }
    await countsOver(['count', 'count'], { 'tool:gate': check, 'tool:before': check, 'tool:after': check })
    expect(frozen).toEqual(Array(6).fill(true))
  })

  test('A099 starts from nothing in the next run, and in a resumed session', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    expect(await countsOver(['count', 'count'], {}, { session })).toEqual([{}, { count: 1 }])
    expect(await countsOver(['count', 'count'], {}, { session })).toEqual([{}, { count: 1 }])
    expect(await countsOver(['count'], {}, { session: await loadSession(store, 's') })).toEqual([{}])
  })

  test('is the count before the call when calls of one turn run one after the other', async () => {
    const counts: unknown[] = []
    const calls = [1, 2, 3].map((n) => call(`c${n}`, 'count', { n }))
    await play(calls, { 'tool:gate': ({ runToolCounts }) => void counts.push(runToolCounts) })
    expect(counts).toEqual([{}, { count: 1 }, { count: 2 }])
  })

  test('is the count before the batch when calls run side by side', async () => {
    const counts: unknown[] = []
    const calls = [1, 2, 3].map((n) => call(`c${n}`, 'look'))
    const tools = { look: tool('look', async () => 'seen', { isConcurrencySafe: true }) }
    await play(calls, { 'tool:gate': ({ runToolCounts }) => void counts.push(runToolCounts) }, { tools })
    expect(counts).toEqual([{}, {}, {}])
  })

  test('turn:after tells the counts of the run so far', async () => {
    const counts: unknown[] = []
    const note = ({ toolCounts }: HookContexts['turn:after']) => void counts.push(toolCounts)
    await countsOver(['count', 'count'], { 'turn:after': note })
    expect(counts).toEqual([{}, { count: 1 }, { count: 2 }])
  })
})

/** Lets a model make these calls in one turn. `log` has the hooks from the first gate to the results. */
async function play(calls: ReturnType<typeof call>[], hooks: AgentHookMap = {}, more: Partial<AgentOptions> = {}) {
  const log: string[] = []
  const ran: unknown[] = []
  const count = tool('count', (input, ctx) => {
    ctx.progress('counting')
    ran.push(input)
    if (input.n === 13) throw new Error('bad luck')
    return `counted ${input.n}`
  })
  const strict = tool('strict', () => void ran.push('strict') as never)
  const tools = {
    count: { ...count, spec: { ...count.spec, inputSchema: { properties: { n: { type: 'number' } } } } },
    strict: { ...strict, spec: { ...strict.spec, inputSchema: { required: ['word'] } } },
  }
  const agent = createAgent({ provider: scripted(calls, 'done'), tools, hooks, ...more })
  for (const name of hookNames) if (name !== 'hook:error') agent.hooks.hook(name, () => void log.push(name))
  await agent.run({ prompt: 'go' })
  const from = log.indexOf('tool:gate')
  return { agent, ran, log: log.slice(from, log.indexOf('tool-results:after') + 1), results: resultsIn(agent.turns) }
}

/** What each gate saw of the counts when a model makes these calls, one per turn. */
async function countsOver(names: string[], hooks: AgentHookMap = {}, more: Partial<AgentOptions> = {}) {
  const counts: unknown[] = []
  const steps = names.map((name, i) => [call(`c${i + 1}`, name, { n: 1 })])
  const first = ({ runToolCounts }: HookContexts['tool:gate']) => void counts.push(runToolCounts)
  const gates = [first, hooks['tool:gate'] ?? []].flat()
  await play([], { ...hooks, 'tool:gate': gates }, { provider: scripted(...steps, 'done'), ...more })
  return counts
}

function resultsIn(turns: readonly SessionTurn[]) {
  return turns.flatMap((turn) => turn.content.filter((block) => block.type === 'tool_result'))
}

function block(reason: string) {
  return (ctx: HookContexts['tool:gate']) => void Object.assign(ctx, { block: true, reason })
}

function answer(result: string) {
  return (ctx: HookContexts['tool:gate']) => void Object.assign(ctx, { result })
}

function image(data: string): ToolResultContent {
  return { type: 'image', mediaType: 'image/png', data }
}

function attempt(work: () => void): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}
