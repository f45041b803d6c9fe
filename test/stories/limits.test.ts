import { describe, expect, test } from 'vitest'
import {
  AgentAbortedError,
  AgentProviderError,
  createAgent,
  createMemoryStore,
  createSession,
  createSpawnTool,
  loadSession,
} from '../../src/index.ts'
import { call, fakeClock, type ScriptedOptions, type Step, scripted, texts, tool } from '../../src/testing/index.ts'
import type { StepFunction } from '../../src/testing/scripted.ts'
import type { AgentHookMap, Behavior, Extension, LogEntry, ModelEvent, Run } from '../../src/types.ts'
import { costOf } from './limits-kit.ts'

const look = tool('look', () => 'seen', { isConcurrencySafe: true })
const looks = (n: number, ...ids: string[]): Step => ({
  calls: ids.map((id) => call(id, 'look')),
  text: 'looking',
  usage: { input: n, output: 5 },
})
const hanging: StepFunction = (_, signal) =>
  new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason)))
const used = (text: string, input: number, output = 5): Step => ({ text, usage: { input, output } })

function agentWith(
  limits: Behavior['limits'],
  steps: readonly Step[],
  more: { behavior?: Behavior; hooks?: AgentHookMap } = {},
) {
  const heard: unknown[] = []
  const provider = scripted(...steps, { options: { costOf } })
  const agent = createAgent({
    provider,
    tools: { look, spawn: createSpawnTool() },
    behavior: { maxTokens: 1000, ...more.behavior, ...(limits && { limits }) },
    hooks: {
      'limit:near': ({ turnId, ...state }) => void heard.push(['near', state, turnId !== '']),
      'limit:reached': ({ turnId, ...state }) => void heard.push(['reached', state, turnId !== '']),
      ...more.hooks,
    },
  })
  return { agent, provider, heard }
}

describe('each limit by itself', () => {
  test('tokens: what does not fit is not sent, and the run ends with what it has', async () => {
    const { agent, provider, heard } = agentWith({ tokens: 5000, warnAt: 1 }, [looks(4000, '1'), 'never'])
    const stats = await agent.run({ prompt: 'go' })
    expect(stats).toMatchObject({ status: 'completed', stopReason: 'budget', text: 'looking', totalIn: 4000 })
    expect(provider.requests.length).toBe(1)
    expect(heard).toEqual([['reached', { limit: 'tokens', spent: 4005, max: 5000 }, true]])
    expect(texts(agent.turns)).toEqual(['user: go', 'assistant: looking →look({})', 'user: ←seen'])
  })

  test('tokens: a request that fits in part gets less output, down to 256', async () => {
    const { agent, provider } = agentWith({ tokens: 2400, warnAt: 1 }, [looks(1000, '1'), used('fin', 1030)])
    expect((await agent.run({ prompt: 'go' })).text).toBe('fin')
    const [first, second] = provider.requests.map(({ maxTokens }) => maxTokens)
    expect(first).toBe(1000)
    expect(second).toBeLessThan(1000)
    expect(second).toBeGreaterThanOrEqual(256)
  })

  test('tokens: an answer that was cut short is the last one, and its text is kept', async () => {
    const cut: Step = { text: 'half of', usage: { input: 1030, output: 260 }, stop: 'length' }
    const schema = { type: 'object' }
    const steps = [looks(1000, '1'), cut, 'never']
    const { agent, heard } = agentWith({ tokens: 2400, warnAt: 1, reserve: 0 }, steps, { behavior: { schema } })
    expect(await agent.run({ prompt: 'go' })).toMatchObject({ stopReason: 'budget', text: 'half of' })
    expect(heard).toMatchObject([['reached', { limit: 'tokens' }, true]])
  })

  test('an answer that is as long as it may be has met no limit', async () => {
    const { agent } = agentWith({ tokens: 9000 }, [{ text: 'half of', stop: 'length' }])
    expect(await agent.run({ prompt: 'go' })).toMatchObject({ stopReason: 'length', text: 'half of' })
  })

  test('a cut takes thinking and answer in proportion', async () => {
    const provider = scripted({ text: 'fin', usage: { input: 10, output: 5 } })
    const agent = createAgent({
      provider,
      behavior: { maxTokens: 4000, thinkingBudget: 4000, limits: { tokens: 5000 } },
    })
    await agent.run({ prompt: 'go' })
    const { maxTokens, thinkingBudget = 0 } = provider.requests[0]!
    expect(thinkingBudget).toBeGreaterThanOrEqual(1024)
    expect(maxTokens).toBeGreaterThanOrEqual(256)
    expect(maxTokens + thinkingBudget).toBeLessThan(4500)
  })

  test('cost: as tokens, in dollars', async () => {
    const { agent, provider, heard } = agentWith({ cost: 0.1 }, [looks(30_000, '1'), 'never'])
    const stats = await agent.run({ prompt: 'go' })
    expect(stats).toMatchObject({ stopReason: 'budget', cost: 30_000 * 3e-6 + 5 * 15e-6 })
    expect(provider.requests.length).toBe(1)
    expect(heard.at(-1)).toMatchObject(['reached', { limit: 'cost', max: 0.1 }, true])
  })

  test('cost: who may spend nothing may use what costs nothing', async () => {
    const heard: unknown[] = []
    const agent = createAgent({
      provider: scripted(looks(10, '1'), looks(10, '2'), 'fin', { options: { costOf: () => 0 } }),
      tools: { look },
      behavior: { limits: { cost: 0 } },
      hooks: { 'limit:near': (state) => void heard.push(state) },
    })
    expect(await agent.run({ prompt: 'go' })).toMatchObject({ stopReason: 'end', text: 'fin', cost: 0 })
    expect(heard).toEqual([])
  })

  test('turns: model calls, without a call that never happened', async () => {
    const { agent, provider, heard } = agentWith({ turns: 2, warnAt: 1 }, [looks(10, '1'), looks(10, '2'), 'never'])
    expect(await agent.run({ prompt: 'go' })).toMatchObject({ stopReason: 'budget', turns: 2, text: 'looking' })
    expect(provider.requests.length).toBe(2)
    expect(heard).toEqual([['reached', { limit: 'turns', spent: 2, max: 2 }, true]])
  })

  test('turns: a run that needs no more than it has ends by itself', async () => {
    const { agent, heard } = agentWith({ turns: 2, warnAt: 1 }, [looks(10, '1'), 'fin'])
    expect(await agent.run({ prompt: 'go' })).toMatchObject({ stopReason: 'end', text: 'fin' })
    expect(heard).toEqual([])
  })

  test('toolCalls: what is too much in a wave is refused, and the turn is the last one', async () => {
    const { agent, provider, heard } = agentWith({ toolCalls: 2, warnAt: 1 }, [looks(10, '1', '2', '3', '4'), 'never'])
    expect(await agent.run({ prompt: 'go' })).toMatchObject({ stopReason: 'budget', turns: 1 })
    expect(provider.requests.length).toBe(1)
    const blocked = '←Blocked: the budget of 2 tool calls is used up'
    expect(texts(agent.turns).at(-1)).toBe(`user: ←seen ←seen ${blocked} ${blocked}`)
    expect(heard).toEqual([['reached', { limit: 'toolCalls', spent: 2, max: 2 }, true]])
  })

  test('toolCalls: calls that tools make count too', async () => {
    const both = tool('both', async (_, ctx) => {
      const { output } = await ctx.call('look', {})
      return `${output}, ${(await ctx.call('look', {})).output}`
    })
    const provider = scripted([call('1', 'both')], 'never')
    const agent = createAgent({ provider, tools: { look, both }, behavior: { limits: { toolCalls: 2 } } })
    expect((await agent.run({ prompt: 'go' })).stopReason).toBe('budget')
    expect(texts(agent.turns).at(-1)).toBe('user: ←seen, Blocked: the budget of 2 tool calls is used up')
  })

  test('toolCalls: what others block is not counted', async () => {
    const toolBudgets = { look: { max: 1, onExceed: 'block' } } as const
    const provider = scripted([call('1', 'look'), call('2', 'look'), call('3', 'look')], [call('4', 'other')], 'fin')
    const tools = { look, other: tool('other', () => 'done') }
    const agent = createAgent({ provider, tools, behavior: { toolBudgets, limits: { toolCalls: 2, warnAt: 1 } } })
    expect(await agent.run({ prompt: 'go' })).toMatchObject({ stopReason: 'end', text: 'fin' })
    expect(texts(agent.turns)).toContain('user: ←done')
  })

  test('toolCalls: a model that has used them all may still answer', async () => {
    const { agent } = agentWith({ toolCalls: 1, warnAt: 1 }, [looks(10, '1'), 'fin'])
    expect(await agent.run({ prompt: 'go' })).toMatchObject({ stopReason: 'end', text: 'fin' })
  })

  test('timeMs: the run is stopped while a tool runs, and its call is answered', async () => {
    const clock = fakeClock(1000)
    const slow = tool('slow', () => new Promise(() => {}), { timeoutMs: 0 })
    const heard: unknown[] = []
    const agent = createAgent({
      provider: scripted({ text: 'wait', calls: [call('1', 'slow')] }, 'never'),
      clock,
      tools: { slow },
      behavior: { limits: { timeMs: 5000 } },
      hooks: { 'limit:reached': ({ limit, max }) => void heard.push([limit, max]) },
    })
    const running = agent.run({ prompt: 'go' })
    await clock.advance(4999)
    expect(agent.isRunning).toBe(true)
    await clock.advance(1)
    expect(await running).toMatchObject({ status: 'completed', stopReason: 'budget', text: 'wait', elapsed: 5000 })
    expect(texts(agent.turns).at(-1)).toMatch(/^user: ←Aborted: the run was stopped while this call ran/)
    expect(heard).toEqual([['timeMs', 5000]])
    expect(clock.pending).toBe(0)
  })

  test('timeMs: the run is stopped while it waits for the model, which has read the request by then', async () => {
    const clock = fakeClock(1000)
    const provider = scripted(hanging)
    const agent = createAgent({ provider, clock, behavior: { limits: { timeMs: 50 } } })
    const running = agent.run({ prompt: 'go' })
    await clock.advance(50)
    const stats = await running
    expect(stats).toMatchObject({ stopReason: 'budget', text: '' })
    expect(stats.totalIn).toBeGreaterThan(0)
  })

  test('timeMs: time that is used up before a run begins ends it with its calls answered', async () => {
    const clock = fakeClock(1000)
    const session = await createSession({ store: createMemoryStore({ clock }), id: 's', clock })
    const ask = tool('ask', async (_, ctx) => {
      await clock.advance(49)
      return ctx.suspend('question')
    })
    const behavior = { limits: { timeMs: 50 } }
    const agent = createAgent({ provider: scripted([call('1', 'ask')]), clock, session, tools: { ask }, behavior })
    expect((await agent.run({ prompt: 'go' })).status).toBe('suspended')
    const stats = await agent.run({ behavior: { limits: { timeMs: 49 } } })
    expect(stats).toMatchObject({ status: 'completed', stopReason: 'budget', turns: 0 })
    expect(texts(agent.turns).at(-1)).toMatch(/^user: ←Aborted: the budget was used up while this call ran/)
  })

  test('a run that ends in time leaves no timer behind', async () => {
    const clock = fakeClock()
    await createAgent({ provider: scripted('fin'), clock, behavior: { limits: { timeMs: 50 } } }).run({ prompt: 'go' })
    expect(clock.pending).toBe(0)
  })
})

describe('what is told', () => {
  test('the model is told once when a limit is near', async () => {
    const steps = [looks(4000, '1'), looks(4100, '2'), used('fin', 200)]
    const { agent, provider, heard } = agentWith({ tokens: 20_000, warnAt: 0.2 }, steps)
    await agent.run({ prompt: 'go' })
    const note = '[Budget: 20 % of the tokens for this task used; finish soon.]'
    expect(texts(agent.turns).filter((text) => text.includes('[Budget'))).toEqual([`user: ${note}`])
    expect(texts(provider.requests[1]!.messages).at(-1)).toContain(note)
    expect(heard).toEqual([['near', { limit: 'tokens', spent: 4005, max: 20_000 }, true]])
  })

  test('a run that is done is not kept alive to be told', async () => {
    const { agent, provider } = agentWith({ tokens: 10_000, warnAt: 0.1 }, [used('fin', 4000)])
    await agent.run({ prompt: 'go' })
    expect(provider.requests.length).toBe(1)
  })

  test('E05 a message that a budget’s end overtook is still there for the next run', async () => {
    const { agent } = agentWith({ turns: 1 }, ['one', 'two'])
    void agent.followUp('and then?', { clientKey: 'k' })
    const { stopReason, undelivered } = await agent.run({ prompt: 'go' })
    expect([stopReason, undelivered?.map(({ clientKey }) => clientKey)]).toEqual(['budget', ['k']])
    await agent.run({ prompt: 'next' })
    expect(texts(agent.turns).slice(2)).toEqual(['user: and then?', 'user: next', 'assistant: two'])
  })

  test('the log says how the run ended', async () => {
    const { entries } = await stored({ turns: 1 }, [looks(10, '1'), 'never'])
    expect(entries.at(-1)).toMatchObject({ type: 'run_ended', status: 'completed', stop: 'budget' })
  })
})

describe('prices', () => {
  test('an unknown price ends the run before the first request, and the error says what to do', async () => {
    const provider = scripted('never')
    const agent = createAgent({ provider, behavior: { limits: { cost: 1 } } })
    const error = await agent.run({ prompt: 'go' }).catch((error) => error)
    expect(error).toBeInstanceOf(AgentProviderError)
    expect(error).toMatchObject({ providerCode: 'unknown_price' })
    expect(error.message).toMatch(/"script-1" of provider "scripted".*prices: .*allowUnknownPrice/)
    expect(provider.requests.length).toBe(0)
  })

  test('unless that is allowed; then tokens still count', async () => {
    const provider = scripted(looks(4000, '1'), 'never')
    const limits = { cost: 1, tokens: 5000, allowUnknownPrice: true }
    const stats = await createAgent({ provider, tools: { look }, behavior: { limits } }).run({ prompt: 'go' })
    expect(stats).toMatchObject({ stopReason: 'budget', totalIn: 4000 })
  })

  test('prices that are loaded late are waited for, and a reply without a price gets one', async () => {
    const late = async (...args: Parameters<typeof costOf>) => costOf(...args)
    const options: ScriptedOptions = { costOf: late }
    const agent = createAgent({ provider: scripted('fin', { options }), behavior: { limits: { cost: 1 } } })
    const stats = await agent.run({ prompt: 'go' })
    expect(stats.cost).toBeGreaterThan(0)
  })

  test('what the service says it cost beats the list', async () => {
    const { agent } = agentWith({ cost: 1 }, [{ text: 'fin', usage: { input: 10, output: 5, cost: 0.5 } }])
    expect((await agent.run({ prompt: 'go' })).cost).toBe(0.5)
  })

  test('a service that counts nothing is counted by what it was sent and said', async () => {
    const { agent } = agentWith({ tokens: 10_000 }, [{ text: 'word '.repeat(30), usage: { input: 0, output: 0 } }])
    const { totalIn, totalOut } = await agent.run({ prompt: 'go' })
    expect(totalIn).toBeGreaterThan(100)
    expect(totalOut).toBeGreaterThanOrEqual(50)
  })

  test('a service that counts only what it said has read something all the same', async () => {
    const { agent } = agentWith({ tokens: 10_000 }, [{ text: 'fin', usage: { input: 0, output: 7 } }])
    const { totalIn, totalOut } = await agent.run({ prompt: 'go' })
    expect(totalIn).toBeGreaterThan(100)
    expect(totalOut).toBe(7)
  })
})

describe('the tree', () => {
  const hire = (id: string, task: string) => call(id, 'spawn', { task })

  test('children count on their parent’s meter, and the parent still gets their results', async () => {
    const steps = [
      { calls: [hire('1', 'look')], usage: { input: 1000, output: 5 } },
      { calls: [call('2', 'look')], text: 'half', usage: { input: 3000, output: 5 } },
      used('sum', 100),
    ]
    const { agent, provider } = agentWith({ tokens: 6200, warnAt: 1 }, steps)
    const stats = await agent.run({ prompt: 'go' })
    expect(stats.children).toMatchObject([{ stopReason: 'budget', text: 'half' }])
    expect(texts(agent.turns)[2]).toBe('user: ←The budget was used up before the sub-agent was done.\nhalf')
    expect(provider.requests.length).toBe(3)
    expect(stats).toMatchObject({ text: 'sum', totalIn: 4100 })
  })

  test('a child with tighter limits of its own stops at these, and its parent goes on', async () => {
    const provider = scripted([hire('1', 'look')], looks(10, '2'), looks(10, '3'), 'sum')
    const agent = createAgent({
      provider,
      tools: { look, spawn: createSpawnTool({ preset: { behavior: { limits: { turns: 2 } } } }) },
      behavior: { limits: { turns: 4, warnAt: 1 } },
    })
    const stats = await agent.run({ prompt: 'go' })
    expect(stats.children).toMatchObject([{ stopReason: 'budget', turns: 2 }])
    expect(stats).toMatchObject({ stopReason: 'end', text: 'sum' })
  })

  test('looser limits of a child do not loosen its parent’s', async () => {
    const provider = scripted([hire('1', 'look')], looks(10, '2'), looks(10, '3'), 'never')
    const agent = createAgent({
      provider,
      tools: { look, spawn: createSpawnTool({ preset: { behavior: { limits: { turns: 50 } } } }) },
      behavior: { limits: { turns: 3, warnAt: 1 } },
    })
    const stats = await agent.run({ prompt: 'go' })
    expect(stats).toMatchObject({ stopReason: 'budget', children: [{ stopReason: 'budget', turns: 2 }] })
    expect(provider.requests.length).toBe(3)
  })

  test('time that is over for a child leaves its parent alone', async () => {
    const clock = fakeClock(1)
    const preset = { behavior: { limits: { timeMs: 70 } } }
    const agent = createAgent({
      provider: scripted([hire('1', 'look')], hanging, 'sum'),
      clock,
      tools: { spawn: createSpawnTool({ preset }) },
    })
    const running = agent.run({ prompt: 'go' })
    await clock.advance(70)
    expect(await running).toMatchObject({ stopReason: 'end', text: 'sum', children: [{ stopReason: 'budget' }] })
    expect(clock.pending).toBe(0)
  })

  test('time that is over for a parent is over for its children', async () => {
    const clock = fakeClock(1)
    const provider = scripted([hire('1', 'look')], () => new Promise<Step>(() => {}))
    const agent = createAgent({
      provider,
      clock,
      tools: { spawn: createSpawnTool() },
      behavior: { limits: { timeMs: 70 } },
    })
    const running = agent.run({ prompt: 'go' })
    await clock.advance(70)
    const stats = await running
    expect(stats).toMatchObject({ stopReason: 'budget', children: [{ stopReason: 'budget', status: 'completed' }] })
  })

  test('a request waits for those beside it before it is cut or refused', async () => {
    const held = Promise.withResolvers<Step>()
    const provider = scripted([hire('1', 'a'), hire('2', 'b')], () => held.promise, 'b is done', 'sum')
    const limits = { tokens: 4000, warnAt: 1 }
    const agent = createAgent({ provider, tools: { spawn: createSpawnTool() }, behavior: { maxTokens: 2000, limits } })
    const running = agent.run({ prompt: 'go' })
    await expect.poll(() => provider.requests.length).toBe(2)
    for (let i = 0; i < 50; i++) await null
    expect(provider.requests.length).toBe(2)
    held.resolve('a is done')
    expect((await running).text).toBe('sum')
    expect(provider.requests.map(({ maxTokens }) => maxTokens)).toEqual([2000, 2000, 2000, 2000])
  })

  test('a big call aside after a small request is estimated by its own size', async () => {
    const heard: unknown[] = []
    let run: Run | undefined
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'some words '.repeat(5000) }] }] as const
    const review = tool('review', async () => String(await run?.askAside({ cause: 'review', messages })))
    const provider = scripted([call('1', 'review')], used('fin', 20))
    const agent = createAgent({
      provider,
      tools: { review },
      extensions: [{ name: 'run', start: (started) => void (run = started) }],
      behavior: { maxTokens: 500, limits: { tokens: 8000 } },
      hooks: { 'limit:reached': (state) => void heard.push(state) },
    })
    expect(await agent.run({ prompt: 'go' })).toMatchObject({ stopReason: 'end', text: 'fin' })
    expect(texts(agent.turns)[2]).toMatch(/The budget is used up: 15 of 8000 .limits.tokens./)
    expect(provider.requests.length).toBe(2)
    expect(heard).toEqual([]) // the run went on
  })

  test('what an extension asks while the run begins counts', async () => {
    const provider = scripted(used('a title', 9000), 'never')
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'A title?' }] }] as const
    const title: Extension = {
      name: 'title',
      start: async (run) => void (await run.askAside({ cause: 'title', messages })),
    }
    const agent = createAgent({ provider, extensions: [title], behavior: { limits: { tokens: 9500 } } })
    expect((await agent.run({ prompt: 'go' })).stopReason).toBe('budget')
    expect(provider.requests.length).toBe(1)
  })

  test('a child whose own limit is met does not wait for those beside it', async () => {
    const met = Promise.withResolvers<void>()
    const slow: StepFunction = async () => {
      await met.promise
      return 'slow'
    }
    const presets = { slow: {}, tight: { behavior: { limits: { tokens: 10 } } } }
    const agent = createAgent({
      provider: scripted(
        [call('1', 'spawn', { task: 'a', preset: 'slow' }), call('2', 'spawn', { task: 'b', preset: 'tight' })],
        slow,
        'fin',
      ),
      tools: { spawn: createSpawnTool({ presets }) },
      behavior: { limits: { tokens: 100_000 } },
      hooks: { 'spawn:complete': ({ stats }) => void (stats.stopReason === 'budget' && met.resolve()) },
    })
    const stats = await agent.run({ prompt: 'go' })
    expect(stats).toMatchObject({ text: 'fin', children: [{ stopReason: 'budget' }, { text: 'slow' }] })
  })

  test('calls aside count, and one that does not fit ends the run with what it has', async () => {
    const schema = { type: 'object', properties: { n: { type: 'number' } } }
    const { agent, provider } = agentWith({ turns: 1, warnAt: 1, reserve: 0 }, ['fin', 'never'], {
      behavior: { schema },
    })
    const stats = await agent.run({ prompt: 'go' })
    expect(stats).toMatchObject({ status: 'completed', stopReason: 'budget', text: 'fin' })
    expect('output' in stats).toBe(false)
    expect(provider.requests.length).toBe(1)
  })
})

describe('attempts without a reply', () => {
  const start: ModelEvent = { type: 'start' }
  const text = 'word '.repeat(30)
  const begun: readonly ModelEvent[] = [start, { type: 'text', delta: text }]

  test('one that was accepted and broke off is counted by what is known, under its cause', async () => {
    const { entries, stats, error } = await stored({ tokens: 50_000 }, [begun])
    expect(error).toBeInstanceOf(AgentProviderError)
    const usage = entries.find((entry) => entry.type === 'usage')
    expect(usage).toMatchObject({ cause: 'failed attempt', usage: { output: 50 } })
    expect(stats!.totalOut).toBe(50)
  })

  test('one that was refused costs nothing', async () => {
    const { entries, stats } = await stored({ tokens: 50_000 }, [new Error('no')])
    expect(entries.filter((entry) => entry.type === 'usage')).toEqual([])
    expect(stats!.totalIn).toBe(0)
  })

  test('an error that says what was used is believed, and counted once', async () => {
    const failing: Step = () => {
      throw Object.assign(new Error('cut'), { usage: { input: 77, output: 3 } })
    }
    const { entries, stats } = await stored({ tokens: 50_000 }, [failing])
    expect(entries.filter((entry) => entry.type === 'usage')).toMatchObject([{ usage: { input: 77, output: 3 } }])
    expect(stats).toMatchObject({ totalIn: 77, totalOut: 3 })
  })

  test('a retry is counted on top', async () => {
    const again: ModelEvent = { type: 'retry', attempt: 2, reason: 'busy' }
    const reply: ModelEvent = {
      type: 'reply',
      content: [{ type: 'text', text: 'fin' }],
      usage: { input: 70, output: 7 },
      stop: 'end',
    }
    const { entries, stats } = await stored({ tokens: 50_000 }, [[...begun, again, start, reply]])
    expect(entries.filter((entry) => entry.type === 'usage')).toMatchObject([
      { cause: 'failed attempt', usage: { output: 50 } },
    ])
    expect(stats).toMatchObject({ totalOut: 57, text: 'fin' })
  })

  test('a retry that does not fit any more ends the run', async () => {
    const again: ModelEvent = { type: 'retry', attempt: 2, reason: 'busy' }
    const endless = Array.from({ length: 40 }, () => [...begun, again]).flat()
    const { stats } = await stored({ tokens: 9000 }, [endless])
    expect(stats).toMatchObject({ status: 'completed', stopReason: 'budget' })
    expect(stats!.totalIn + stats!.totalOut).toBeLessThanOrEqual(9000)
  })

  test('an abort is an abort, and what was streamed until then is counted', async () => {
    const seen = Promise.withResolvers<void>()
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    const provider = scripted((...asked) => {
      seen.resolve()
      return hanging(...asked)
    })
    const streaming = {
      ...provider,
      async *stream(...args: Parameters<typeof provider.stream>) {
        yield* begun
        yield* provider.stream(...args)
      },
    }
    const agent = createAgent({ provider: streaming, session, behavior: { limits: { tokens: 50_000 } } })
    const running = agent.run({ prompt: 'go' })
    await seen.promise
    agent.abort()
    const error = await running.catch((error) => error)
    expect(error).toBeInstanceOf(AgentAbortedError)
    expect(error.stats.totalOut).toBe(50)
    const usage = (await store.read('s')).filter((entry) => entry.type === 'usage')
    expect(usage).toMatchObject([{ cause: 'aborted attempt', usage: { output: 50 } }])
  })
})

describe('a run that continues earlier work', () => {
  test('without a session: a run without a prompt continues the meter, a prompt starts a new one', async () => {
    const { agent, provider } = agentWith({ turns: 1, warnAt: 1 }, [looks(10, '1'), 'fresh'])
    expect((await agent.run({ prompt: 'go' })).stopReason).toBe('budget')
    expect((await agent.run()).stopReason).toBe('budget')
    expect(provider.requests.length).toBe(1)
    expect((await agent.run({ prompt: 'again' })).text).toBe('fresh')
  })

  test('with a higher limit it gets further', async () => {
    const { agent } = agentWith({ turns: 1, warnAt: 1 }, [looks(10, '1'), 'fin'])
    await agent.run({ prompt: 'go' })
    expect(await agent.run({ behavior: { limits: { turns: 2 } } })).toMatchObject({ stopReason: 'end', text: 'fin' })
  })

  test('since "session" counts everything, before there were limits too', async () => {
    const { agent, provider } = agentWith(undefined, ['one', 'two', 'three', 'never'])
    await agent.run({ prompt: '1' })
    const behavior = { limits: { turns: 3, since: 'session' } } as const
    await agent.run({ prompt: '2', behavior })
    expect((await agent.run({ prompt: '3', behavior })).text).toBe('three')
    expect((await agent.run({ prompt: '4', behavior })).stopReason).toBe('budget')
    expect(provider.requests.length).toBe(3)
  })

  test('since "session" in another process', async () => {
    const store = createMemoryStore()
    const behavior = { limits: { tokens: 8500, since: 'session' } } as const
    const first = createAgent({
      provider: scripted(used('one', 4000)),
      session: await createSession({ store, id: 's' }),
      behavior,
    })
    await first.run({ prompt: '1' })
    const provider = scripted(used('two', 4000), 'never')
    const second = createAgent({ provider, session: await loadSession(store, 's'), behavior })
    expect((await second.run({ prompt: '2' })).text).toBe('two')
    expect((await second.run({ prompt: '3' })).stopReason).toBe('budget')
    expect(provider.requests.length).toBe(1)
  })

  test('a suspended child and its parent go on with the same meter; a call that runs again is the same call', async () => {
    const store = createMemoryStore()
    let isAllowed = false
    const ask = tool('ask', (_, ctx) => (isAllowed ? 'yes' : ctx.suspend('question')))
    const behavior = { limits: { turns: 3, toolCalls: 2, warnAt: 1 } } as const
    const tools = { ask, look, spawn: createSpawnTool() }
    const provider = scripted([call('1', 'spawn', { task: 'ask' })], [call('2', 'ask')])
    const first = createAgent({ provider, session: await createSession({ store, id: 's' }), tools, behavior })
    expect((await first.run({ prompt: 'go' })).status).toBe('suspended')

    isAllowed = true
    const later = scripted('child is done', 'never')
    const second = createAgent({ provider: later, session: await loadSession(store, 's'), tools, behavior })
    const stats = await second.run()
    expect(stats).toMatchObject({ stopReason: 'budget', children: [{ text: 'child is done' }] })
    expect(later.requests.length).toBe(1)
  })

  test('who is steered again and again in place of an answer stays on the same meter', async () => {
    const ask = tool('ask', (_, ctx) => ctx.suspend('question'))
    const steps = Array.from({ length: 9 }, (_, i) => ({
      calls: [call(`c${i}`, 'ask')],
      usage: { input: 1000, output: 5 },
    }))
    const provider = scripted(...steps)
    const session = await createSession({ store: createMemoryStore() })
    const limits = { tokens: 5000, warnAt: 1 }
    const agent = createAgent({ provider, session, tools: { ask }, behavior: { maxTokens: 500, limits } })
    const stops = [(await agent.run({ prompt: 'go' })).stopReason]
    for (let i = 0; i < 8; i++) {
      await agent.steer('Never mind.')
      stops.push((await agent.run()).stopReason)
    }
    expect(stops.at(-1)).toBe('budget')
    expect(provider.requests.length).toBeLessThanOrEqual(4)
  })

  test('time adds up over the runs, without the time between them', async () => {
    const clock = fakeClock(1000)
    let isAllowed = false
    const ask = tool('ask', async (_, ctx) => {
      await clock.advance(30)
      return isAllowed ? 'yes' : ctx.suspend('question')
    })
    const session = await createSession({ store: createMemoryStore({ clock }), id: 's', clock })
    const agent = createAgent({
      provider: scripted([call('1', 'ask')], 'never'),
      clock,
      session,
      tools: { ask },
      behavior: { limits: { timeMs: 50 } },
    })
    expect((await agent.run({ prompt: 'go' })).status).toBe('suspended')
    await clock.advance(10_000)
    isAllowed = true
    const stats = await agent.run()
    expect(stats).toMatchObject({ stopReason: 'budget', elapsed: 20 })
  })
})

/** A run on a session, and what its log says afterwards. */
async function stored(limits: Behavior['limits'], steps: readonly Step[]) {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const provider = scripted(...steps, { options: { costOf } })
  let stats: Awaited<ReturnType<typeof agent.run>> | undefined
  const agent = createAgent({
    provider,
    session,
    tools: { look },
    behavior: { maxTokens: 1000, ...(limits && { limits }) },
    hooks: { 'agent:done': (done) => void (stats = done) },
  })
  const error: unknown = await agent.run({ prompt: 'go' }).then(
    () => undefined,
    (error) => error,
  )
  const entries: readonly LogEntry[] = await store.read('s')
  return { entries, stats, error }
}

test('what was being said when the time was up is what the run says last', async () => {
  const clock = fakeClock()
  const streaming: StepFunction = async (_, signal) => {
    await new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason)))
    return 'never'
  }
  const provider = scripted(streaming)
  const { stream } = provider
  const half = {
    ...provider,
    async *stream(...args: Parameters<typeof stream>) {
      yield { type: 'text', delta: 'Half an ans' } as const
      yield* stream(...args)
    },
  }
  const run = createAgent({ provider: half, clock, behavior: { limits: { timeMs: 5000 } } }).run({ prompt: 'go' })
  await clock.advance(6000)
  expect(await run).toMatchObject({ status: 'completed', stopReason: 'budget', text: 'Half an ans', turns: 1 })
})

test('a request that was never sent is no turn', async () => {
  const { agent } = agentWith({ turns: 0 }, ['never'])
  expect(await agent.run({ prompt: 'go' })).toMatchObject({ stopReason: 'budget', turns: 0, text: '' })
})
