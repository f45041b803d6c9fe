import { describe, expect, test } from 'vitest'
import type { AgentHookMap, SessionTurn, ToolDef, ToolResultContent } from '../../src/index.ts'
import { AgentAbortedError, createAgent } from '../../src/index.ts'
import { call, fakeClock, scripted, tool } from '../../src/testing/index.ts'

describe('what was judged is what runs', () => {
  test.each([
    ['', { list: [1] }],
    [', repaired or not', { list: '[1]' }],
  ])('no handler can change the input after the gate%s', async (_, input) => {
    const ran: unknown[] = []
    const save = tool('save', (input) => {
      ran.push(input)
      return 'saved'
    })
    const spec = { ...save.spec, inputSchema: { properties: { list: { type: 'array' } } } }
    const tamper = (ctx: { readonly input: Readonly<Record<string, unknown>> }) => {
      const { list } = ctx.input as { list: unknown[] }
      Object.assign(ctx, { input: { path: '/etc/passwd' }, name: 'other', callId: 'c9' })
      list.push('more')
    }
    const hooks = { 'tool:before': tamper, 'hook:error': () => {} }
    const { results } = await play([call('c1', 'save', input)], { ...save, spec }, hooks)
    expect(ran).toEqual([{ list: [1] }])
    expect(results).toEqual([{ type: 'tool_result', callId: 'c1', output: 'saved' }])
  })

  test('a gate that writes into the input is a gate that failed', async () => {
    const { results } = await play([call('c1', 'save', { list: [1] })], tool('save', fail), {
      'tool:gate': ({ input }) => void (input.list as unknown[]).push('more'),
      'hook:error': () => {},
    })
    expect(results[0]?.output).toMatch(/^Blocked: a gate failed: /)
  })

  test('a tool may do with its input what it likes; the session keeps what the model sent', async () => {
    const save = tool('save', (input) => {
      input.list.push(2)
      input.more = true
      return JSON.stringify(input)
    })
    const { results, turns } = await play([call('c1', 'save', { list: [1] })], save)
    expect(results[0]?.output).toBe('{"list":[1,2],"more":true}')
    expect(turns[1]?.content).toEqual([call('c1', 'save', { list: [1] })])
  })
})

describe('what handlers write is made fit to be stored', () => {
  const half = '😀'.slice(0, 1)
  const throws = tool('save', () => Promise.reject(new Error('no')))

  test.each<[string, ToolDef, AgentHookMap]>([
    ['tool:gate', tool('save', fail), { 'tool:gate': (ctx) => void Object.assign(ctx, { result: `cut${half}` }) }],
    ['tool:transform', tool('save', () => 'x'), { 'tool:transform': (ctx) => void (ctx.result = `cut${half}`) }],
    ['tool:error', throws, { 'tool:error': (ctx) => void (ctx.result = `cut${half}`) }],
    ['tool:unknown', tool('other', fail), { 'tool:unknown': (ctx) => void (ctx.result = `cut${half}`) }],
  ])('%s may cut a character in half', async (_, one, hooks) => {
    const { results } = await play([call('c1', 'save')], one, hooks)
    expect(results[0]?.output).toBe('cut\ufffd')
  })

  test.each([
    ['a number', 42],
    ['an object', { a: [1] }],
    ['nothing', undefined],
  ])('tool:transform may write %s, and a text is stored', async (_, result) => {
    const { results, text } = await play(
      [call('c1', 'save')],
      tool('save', () => 'x'),
      {
        'tool:transform': (ctx) => void Object.assign(ctx, { result }),
      },
    )
    expect(results[0]).toEqual({ type: 'tool_result', callId: 'c1', output: expect.any(String) })
    expect(text).toBe('done')
  })

  test('a gate result that cannot be shown is an error result, not the end of the run', async () => {
    const { results, text } = await play([call('c1', 'save')], tool('save', fail), {
      'tool:gate': (ctx) => void Object.assign(ctx, { result: { n: 1n } }),
    })
    expect(results[0]).toMatchObject({ callId: 'c1', isError: true })
    expect(text).toBe('done')
  })

  test('a list that a handler keeps for itself is copied, not frozen', async () => {
    const own: ToolResultContent[] = [{ type: 'text', text: 'x' }]
    await play(
      [call('c1', 'save')],
      tool('save', () => 'x'),
      { 'tool:transform': (ctx) => void (ctx.result = own) },
    )
    expect(Object.isFrozen(own)).toBe(false)
    expect(Object.isFrozen(own[0])).toBe(false)
  })
})

describe('a handler that fails', () => {
  test('a failing tool:transform withholds the output from the model, the log and tool:after', async () => {
    const seen: unknown[] = []
    const { results } = await play(
      [call('c1', 'save')],
      tool('save', () => 'TOKEN=abc'),
      {
        'tool:transform': () => Promise.reject(new Error('bad pattern')),
        'tool:after': ({ result }) => void seen.push(result),
        'hook:error': () => {},
      },
    )
    const output = 'Tool error: the output was withheld because a handler failed on it: bad pattern'
    expect(results).toEqual([{ type: 'tool_result', callId: 'c1', output, isError: true }])
    expect(seen).toEqual([output])
  })

  test.each([
    ['tool:error', 'save', 'Tool error: no'],
    ['tool:unknown', 'svae', 'Unknown tool: svae, did you mean "save"?'],
  ] as const)('what a failing %s wrote is taken back', async (hook, name, output) => {
    const { results } = await play(
      [call('c1', name)],
      tool('save', () => Promise.reject(new Error('no'))),
      {
        [hook]: (ctx: { result?: unknown }) => {
          ctx.result = 'half-baked'
          throw new Error('oops')
        },
        'hook:error': () => {},
      },
    )
    expect(results[0]?.output).toBe(output)
  })

  test('failing observers of a call change nothing about it', async () => {
    const errors: string[] = []
    const boom = () => Promise.reject(new Error('boom'))
    const { results } = await play(
      [call('c1', 'save')],
      tool('save', () => 'saved'),
      {
        'tool:before': boom,
        'tool:after': boom,
        'tool-results:after': boom,
        'hook:error': ({ hook }) => void errors.push(hook),
      },
    )
    expect(results).toEqual([{ type: 'tool_result', callId: 'c1', output: 'saved' }])
    expect(errors).toEqual(['tool:before', 'tool:after', 'tool-results:after'])
  })

  test.each([
    ['at once', () => fail()],
    ['later', () => Promise.reject(new Error('no'))],
  ])("a tool's own before() that fails %s adds nothing to tool:before", async (_, before) => {
    const seen: unknown[] = []
    const save = tool('save', () => 'saved', { before })
    const { results } = await play([call('c1', 'save')], save, {
      'tool:before': ({ priorContent }) => void seen.push(priorContent),
    })
    expect(seen).toEqual([undefined])
    expect(results[0]?.output).toBe('saved')
  })

  test("a tool's own before() that never ends is given up at the time limit of the call, which goes on", async () => {
    const save = tool('save', (_, { signal }) => (signal.aborted ? 'cancelled' : 'saved'), {
      before: () => new Promise(() => {}),
      timeoutMs: 20,
    })
    const { results } = await play([call('c1', 'save')], save)
    expect(results[0]?.output).toBe('saved')
  })
})

describe('abort around the start of a call', () => {
  test('a call whose run was aborted in tool:before does not start', async () => {
    const ran: string[] = []
    const save = tool('save', async (_, { callId }) => {
      ran.push(callId)
      return 'saved'
    })
    const agent = createAgent({ provider: scripted([call('c1', 'save')]), tools: { save } })
    agent.hooks.hook('tool:before', () => agent.abort())
    await expect(agent.run({ prompt: 'go' })).rejects.toThrow(AgentAbortedError)
    expect(ran).toEqual([])
    expect(resultsIn(agent.turns)[0]?.output).toMatch(/^Aborted: /)
  })

  test('a tool that aborts its own run and then fails leaves no unhandled rejection', async () => {
    const rejections: unknown[] = []
    const note = (reason: unknown) => void rejections.push(reason)
    process.on('unhandledRejection', note)
    const save = tool('save', () => {
      agent.abort()
      return Promise.reject(new Error('stopped'))
    })
    const agent = createAgent({ provider: scripted([call('c1', 'save')]), tools: { save } })
    await expect(agent.run({ prompt: 'go' })).rejects.toThrow(AgentAbortedError)
    await new Promise((resolve) => setTimeout(resolve, 0))
    process.off('unhandledRejection', note)
    expect(rejections).toEqual([])
    expect(resultsIn(agent.turns)[0]?.output).toMatch(/^Aborted: /)
  })

  test('a gate that is never answered ends with the run', async () => {
    const asked = Promise.withResolvers<void>()
    const save = tool('save', fail)
    const agent = createAgent({ provider: scripted([call('c1', 'save')]), tools: { save } })
    agent.hooks.hook('tool:gate', () => {
      asked.resolve()
      return new Promise(() => {})
    })
    const running = agent.run({ prompt: 'go' })
    await asked.promise
    agent.abort()
    await expect(running).rejects.toThrow(AgentAbortedError)
    expect(resultsIn(agent.turns)[0]?.output).toMatch(/^Aborted: /)
  })

  test('a gate has no time limit: a person may be thinking for an hour', async () => {
    const clock = fakeClock()
    const asked = Promise.withResolvers<void>()
    const save = tool('save', async () => 'saved', { timeoutMs: 1000 })
    const agent = createAgent({ provider: scripted([call('c1', 'save')], 'done'), tools: { save }, clock })
    agent.hooks.hook('tool:gate', () => asked.promise)
    const running = agent.run({ prompt: 'go' })
    await clock.advance(3_600_000)
    asked.resolve()
    await running
    expect(resultsIn(agent.turns)[0]?.output).toBe('saved')
  })

  test('a tool that was given up on can start no other tool any more', async () => {
    const clock = fakeClock()
    const ran: string[] = []
    const late = Promise.withResolvers<void>()
    const save = tool('save', async (_, { callId }) => void ran.push(callId) as never)
    const slow = tool('slow', (_, ctx) => late.promise.then(() => ctx.call('save', {})))
    const agent = createAgent({ provider: scripted([call('c1', 'slow')], 'done'), tools: { save, slow }, clock })
    const running = agent.run({ prompt: 'go' })
    await clock.advance(30_000)
    await running
    late.resolve()
    await clock.advance(1)
    expect(resultsIn(agent.turns)[0]?.output).toMatch(/^Tool error: .* took longer than 30000 ms$/)
    expect(ran).toEqual([])
  })
})

/** Lets a model make these calls in one turn, with one tool. */
async function play(calls: ReturnType<typeof call>[], one: ToolDef, hooks: AgentHookMap = {}) {
  const agent = createAgent({ provider: scripted(calls, 'done'), tools: { one }, hooks })
  const { text } = await agent.run({ prompt: 'go' })
  return { text, turns: agent.turns, results: resultsIn(agent.turns) }
}

function resultsIn(turns: readonly SessionTurn[]) {
  return turns.flatMap((turn) => turn.content.filter((block) => block.type === 'tool_result'))
}

function fail(): never {
  throw new Error('this must not run')
}
