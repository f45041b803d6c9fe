import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { hookNames } from '../../src/core/hook-map.ts'
import {
  type Agent,
  AgentAbortedError,
  type AgentHookMap,
  AgentProviderError,
  createAgent,
  createSession,
} from '../../src/index.ts'
import { call, type Step, scripted, texts, tool } from '../../src/testing/index.ts'

describe('when the loop ends', () => {
  test('A016 the loop ends when the model makes no tool call', async () => {
    const { agent, provider } = agentWith('hi', 'never asked')
    const stats = await agent.run({ prompt: 'hello' })
    expect(stats).toMatchObject({ turns: 1, text: 'hi', stopReason: 'end' })
    expect(provider.requests).toHaveLength(1)
    expect(texts(agent.turns)).toEqual(['user: hello', 'assistant: hi'])
  })

  test('A016 the loop goes on as long as the model calls tools', async () => {
    const { agent, provider } = agentWith(noop('c1'), { text: 'wait', calls: noop('c2') }, 'done')
    expect(await agent.run({ prompt: 'hello' })).toMatchObject({ turns: 3, text: 'done', stopReason: 'end' })
    expect(texts(provider.requests[2]?.messages ?? [])).toEqual([
      'user: hello',
      'assistant: →noop({})',
      'user: ←ok',
      'assistant: wait →noop({})',
      'user: ←ok',
    ])
  })

  test('A017 the usage of every turn is added up', async () => {
    const { agent } = agentWith(
      { calls: noop('c1'), usage: { input: 10, output: 1, cacheRead: 3, cost: 0.5 } },
      { text: 'done', usage: { input: 20, output: 2, cost: 0.25 } },
    )
    expect(await agent.run({ prompt: 'hello' })).toMatchObject({
      totalIn: 30,
      totalOut: 3,
      cost: 0.75,
      turnUsage: [
        { input: 10, output: 1, cacheRead: 3, cost: 0.5, model: 'script-1' },
        { input: 20, output: 2, cost: 0.25, model: 'script-1' },
      ],
    })
  })

  test('A018 maxTurns stops a model that never stops by itself', async () => {
    const { agent, provider } = agentWith(noop('c1'), noop('c2'), noop('c3'), noop('c4'))
    const ends: unknown[] = []
    agent.hooks.hook('session:end', ({ status, stopReason }) => void ends.push([status, stopReason]))
    const stats = await agent.run({ prompt: 'go', behavior: { maxTurns: 3 } })
    expect(stats).toMatchObject({ turns: 3, stopReason: 'max_turns' })
    expect(provider.requests).toHaveLength(3)
    expect(texts(agent.turns.slice(-2))).toEqual(['assistant: →noop({})', 'user: ←ok'])
    expect(ends).toEqual([['completed', 'max_turns']])
  })

  test('A018 a model that is done in the last allowed turn has ended by itself', async () => {
    const { agent } = agentWith(noop('c1'), 'done')
    const stats = await agent.run({ prompt: 'go', behavior: { maxTurns: 2 } })
    expect(stats).toMatchObject({ turns: 2, stopReason: 'end', text: 'done' })
  })
})

describe('messages that come while it runs', () => {
  test('A019 steering is looked at before the end of the model', async () => {
    const { agent, provider } = agentWith('I am done', 'as you wish')
    await agent.run({ prompt: 'go', hooks: { 'stream:text': once(() => agent.steer('wait, also this')) } })
    expect(provider.requests).toHaveLength(2)
    expect(texts(agent.turns)).toEqual([
      'user: go',
      'assistant: I am done',
      'user: wait, also this',
      'assistant: as you wish',
    ])
  })

  test('A020 a follow-up queued early is sent only after the model is done', async () => {
    const { agent, provider } = agentWith(noop('c1'), noop('c2'), 'done', 'more done')
    await agent.run({ prompt: 'go', hooks: { 'turn:before': once(() => agent.followUp('and then?')) } })
    expect(provider.requests.map(({ messages }) => texts(messages).at(-1))).toEqual([
      'user: go',
      'user: ←ok',
      'user: ←ok',
      'user: and then?',
    ])
    expect(texts(agent.turns.slice(-3))).toEqual(['assistant: done', 'user: and then?', 'assistant: more done'])
  })

  test('A021 steering and follow-ups fire steer:inject with their message, once they are in the transcript', async () => {
    const { agent } = agentWith(noop('c1'), 'steered', 'followed up')
    const seen: unknown[] = []
    agent.hooks.hook('steer:inject', ({ message, mode }) => {
      seen.push([mode, message, texts(agent.turns).at(-1)])
    })
    const send = once(async () => {
      await agent.followUp('later')
      await agent.steer('now')
    })
    await agent.run({ prompt: 'go', hooks: { 'turn:before': send } })
    expect(seen).toEqual([
      ['steer', 'now', 'user: now'],
      ['followUp', 'later', 'user: later'],
    ])
  })
})

describe('abort', () => {
  test('A022 an abort before the request sends nothing', async () => {
    const { agent, provider } = agentWith('one', 'never said', 'three')
    await agent.run({ prompt: 'a' })
    const aborted = agent.run({ prompt: 'b', hooks: { 'turn:before': () => agent.abort() } })
    await expect(aborted).rejects.toBeInstanceOf(AgentAbortedError)
    expect(provider.requests).toHaveLength(1)
  })

  test('A022 a signal that was aborted before the run sends nothing', async () => {
    const { agent, provider } = agentWith('never said')
    const { log, handlers } = recorder()
    const run = agent.run({ prompt: 'a', signal: AbortSignal.abort(), hooks: handlers })
    await expect(run).rejects.toBeInstanceOf(AgentAbortedError)
    expect(provider.requests).toHaveLength(0)
    expect(log).toEqual(['session:start', 'session:turns', 'agent:abort', 'agent:done', 'session:end'])
  })

  test('A023 aborting the signal equals agent.abort', async () => {
    for (const how of ['method', 'signal'] as const) {
      const { agent, provider } = agentWith(noop('c1'), () => hang())
      const controller = new AbortController()
      const events: string[] = []
      for (const name of ['agent:abort', 'agent:done', 'session:end'] as const)
        agent.hooks.hook(name, () => void events.push(name))
      const run = agent.run({ prompt: 'go', signal: controller.signal })
      const failure = run.catch((error: unknown) => error)
      while (provider.requests.length < 2) await tick()
      if (how === 'method') agent.abort()
      else controller.abort()
      const error = await failure
      expect(error).toBeInstanceOf(AgentAbortedError)
      expect(error).toMatchObject({ stats: { turns: 2, totalIn: 10, stopReason: 'aborted' } })
      expect(events).toEqual(['agent:abort', 'agent:done', 'session:end'])
    }
  })

  test('A023 the signal of a run that has ended has no effect', async () => {
    const { agent } = agentWith('one', 'two')
    const controller = new AbortController()
    await agent.run({ prompt: 'a', signal: controller.signal })
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    const second = agent.run({ prompt: 'b' })
    controller.abort()
    expect((await second).text).toBe('two')
    agent.abort() // with nothing under way
    expect(texts(agent.turns)).toHaveLength(4)
  })

  test.each(['turn:after', 'turn:next'] as const)('A023 an abort in %s of the last turn still counts', async (name) => {
    const { agent } = agentWith('done')
    const run = agent.run({ prompt: 'a', hooks: { [name]: () => agent.abort() } })
    await expect(run).rejects.toBeInstanceOf(AgentAbortedError)
    expect(texts(agent.turns)).toEqual(['user: a', 'assistant: done'])
  })
})

describe('how a run ends', () => {
  test('A024 the status of a run is completed, aborted, error or suspended', async () => {
    const session = await createSession()
    const { agent } = agentWith({ session }, 'done', abortedStep, new Error('down'), [call('c1', 'wait')])
    const statuses: unknown[] = []
    agent.hooks.hook('session:end', ({ status, sessionId, runId }) => void statuses.push([status, sessionId, runId]))
    for (let i = 0; i < 4; i++) await agent.run({ prompt: 'go' }).catch(() => {})
    expect(statuses).toEqual(session.runs.map(({ status, id }) => [status, session.id, id]))
    expect(session.runs.map(({ status }) => status)).toEqual(['completed', 'aborted', 'error', 'suspended'])
  })

  test('A025 agent:done fires once on every exit path', async () => {
    const { agent } = agentWith('done', abortedStep, new Error('down'), [call('c1', 'wait')], noop('c2'))
    const done: unknown[] = []
    agent.hooks.hook('agent:done', ({ stopReason }) => void done.push(stopReason))
    for (let i = 0; i < 5; i++) await agent.run({ prompt: 'go', behavior: { maxTurns: 1 } }).catch(() => {})
    expect(done).toEqual(['end', 'aborted', 'error', 'for an answer', 'max_turns'])
  })

  test('A025 agent:done carries what run returns', async () => {
    const { agent } = agentWith({ text: 'done', usage: { input: 7, output: 3 } })
    let done: unknown
    agent.hooks.hook('agent:done', (stats) => void (done = stats))
    const stats = await agent.run({ prompt: 'go' })
    expect(done).toEqual(stats)
    expect(stats).toMatchObject({ totalIn: 7, totalOut: 3 })
  })

  test('A026 session:end comes last and its range names the turns of the run', async () => {
    const { agent } = agentWith('one', noop('c1'), 'two')
    await agent.run({ prompt: 'a' })
    const { log, handlers } = recorder()
    let range: readonly [number, number] = [0, 0]
    agent.hooks.hook('session:end', ({ turnRange }) => void (range = turnRange))
    const { runId } = await agent.run({ prompt: 'b', hooks: handlers })
    expect(log.slice(-2)).toEqual(['agent:done', 'session:end'])
    expect(range).toEqual([2, 6])
    expect(agent.turns.slice(...range)).toEqual(agent.turns.filter((turn) => turn.runId === runId))
  })

  test('A026 the range of a run that was aborted or failed is right, too', async () => {
    const { agent } = agentWith(noop('c1'), abortedStep, noop('c2'), new Error('down'))
    const ranges: unknown[] = []
    agent.hooks.hook('session:end', ({ turnRange }) => void ranges.push(turnRange))
    await agent.run({ prompt: 'a' }).catch(() => {})
    await agent.run({ prompt: 'b' }).catch(() => {})
    expect(ranges).toEqual([
      [0, 5],
      [5, 8],
    ])
    expect(agent.turns).toHaveLength(8)
  })
})

describe('the order of events', () => {
  test('A027 a turn without calls fires its hooks in the fixed order', async () => {
    const { agent } = agentWith({ thinking: 'hm', text: 'hi' })
    const { log, handlers } = recorder()
    await agent.run({ prompt: 'hello', system: 'Be brief.', hooks: handlers })
    expect(log).toEqual([
      'session:start',
      'session:turns',
      'system:before',
      ...request,
      'stream:start',
      'stream:thinking',
      'stream:text',
      'stream:end',
      'turn:after',
      'usage',
      'session:turns',
      'turn:next',
      'agent:done',
      'session:end',
    ])
  })

  test('A027 a turn with a call fires its hooks in the fixed order', async () => {
    const { agent } = agentWith(noop('c1'), 'done')
    const { log, handlers } = recorder()
    await agent.run({ prompt: 'hello', hooks: handlers })
    expect(log.slice(2, log.lastIndexOf('request:prepare'))).toEqual([
      ...request,
      'stream:start',
      'stream:tool:start',
      'stream:tool:args',
      'stream:tool:end',
      'turn:after',
      'usage',
      'session:turns',
      'tool:gate',
      'tool:before',
      'tool:transform',
      'tool:after',
      'tool-results:after',
      'session:turns',
      'turn:next',
    ])
  })

  test('A027 every turn has an id of its own, and all its events carry it', async () => {
    const { agent } = agentWith(noop('c1'), 'done')
    const ids = new Map<string, Set<string>>()
    for (const name of ['turn:before', 'turn:after', 'usage', 'tool:gate', 'tool:after', 'tool-results:after'] as const)
      agent.hooks.hook(name, ({ turnId }) => void ids.set(turnId, (ids.get(turnId) ?? new Set()).add(name)))
    await agent.run({ prompt: 'hello' })
    const turns = agent.turns.filter(({ role }) => role === 'assistant')
    expect([...ids].map(([id, names]) => [id, names.size])).toEqual([
      [turns[0]?.id, 6],
      [turns[1]?.id, 3],
    ])
  })

  test('A028 turn:after fires with zero usage when the provider fails, and the error is rethrown', async () => {
    const cause = new Error('overloaded')
    const { agent } = agentWith(cause)
    const seen: unknown[] = []
    agent.hooks.hook('turn:after', ({ turn, usage, stop, sessionTurn }) => {
      seen.push({ turn, usage, stop, sessionTurn })
    })
    const failure = await agent.run({ prompt: 'hello' }).catch((error: unknown) => error)
    expect(seen).toEqual([{ turn: 1, usage: { input: 0, output: 0 }, stop: 'error', sessionTurn: undefined }])
    expect(failure).toBeInstanceOf(AgentProviderError)
    expect(failure).toMatchObject({ provider: 'scripted', cause, message: expect.stringContaining('overloaded') })
  })

  test('A028 turn:after says what had been streamed when the provider fails halfway', async () => {
    const { agent } = agentWith([{ type: 'text', delta: 'half a ' }])
    const seen: unknown[] = []
    agent.hooks.hook('turn:after', ({ stop, usage, partial }) => void seen.push({ stop, usage, partial }))
    await expect(agent.run({ prompt: 'hello' })).rejects.toBeInstanceOf(AgentProviderError)
    expect(seen).toMatchObject([{ stop: 'error', usage: { output: 2, estimated: true }, partial: 'half a ' }])
    expect(texts(agent.turns)).toEqual(['user: hello', 'assistant: half a '])
  })

  test('A029 stream:end fires only in turns with text, with the whole text', async () => {
    const { agent } = agentWith(noop('c1'), { thinking: 'hm', calls: noop('c2') }, 'all of the text')
    const seen: unknown[] = []
    agent.hooks.hook('stream:end', ({ turnId, text }) => void seen.push([turnId, text]))
    await agent.run({ prompt: 'hello' })
    expect(seen).toEqual([[agent.turns.at(-1)?.id, 'all of the text']])
  })

  test('A034 session:turns tells of the prompt before the first turn, and of nothing on a resume', async () => {
    const session = await createSession()
    const { agent } = agentWith({ session }, 'one', 'two')
    const log: string[] = []
    agent.hooks.hook('session:turns', ({ turns }) => void log.push(...texts(turns)))
    agent.hooks.hook('turn:before', () => void log.push('turn:before'))
    await agent.run({ prompt: 'hello' })
    expect(log.splice(0)).toEqual(['user: hello', 'turn:before', 'assistant: one'])
    await session.addTurns([{ role: 'user', content: [{ type: 'text', text: 'stored' }] }])
    await agent.run()
    expect(log).toEqual(['turn:before', 'assistant: two'])
  })

  test('A034 session:turns tells of every later turn, once it is written', async () => {
    const session = await createSession()
    const { agent } = agentWith({ session }, noop('c1'), 'done', 'more')
    const told: unknown[] = []
    agent.hooks.hook('session:turns', ({ turns }) => {
      expect(session.turns.slice(-turns.length)).toEqual(turns)
      told.push(...turns)
    })
    await agent.run({ prompt: 'hello', hooks: { 'turn:after': once(() => agent.followUp('go on')) } })
    expect(told).toEqual(session.turns)
    expect(texts(session.turns)).toHaveLength(6)
  })
})

const request = ['request:prepare', 'context:transform', 'system:transform', 'turn:before']
const noop = (id: string) => [call(id, 'noop')]
const tick = () => new Promise<void>((resolve) => setTimeout(resolve, 0))
const hang = () => new Promise<never>(() => {})
const abortedStep = (): Step => [call('never', 'stop')]

type Options = Omit<Parameters<typeof createAgent>[0], 'provider'>

/** An agent that plays a script and has a tool of each temper. The first argument may be options. */
function agentWith(...script: (Step | Options)[]): { agent: Agent; provider: ReturnType<typeof scripted> } {
  const isOptions = (one: Step | Options): one is Options => typeof one === 'object' && 'session' in one
  const options = script.find(isOptions)
  const provider = scripted(...script.filter((one): one is Step => !isOptions(one)))
  const tools = {
    noop: tool('noop', () => 'ok'),
    wait: tool('wait', (_, ctx) => ctx.suspend('for an answer')),
    stop: tool('stop', () => {
      agent.abort()
      return 'too late'
    }),
  }
  const agent = createAgent({ provider, tools, ...options })
  return { agent, provider }
}

function once<Args extends unknown[]>(fn: (...args: Args) => Promise<void> | void) {
  let isDone = false
  return (...args: Args): Promise<void> | void => {
    if (isDone) return
    isDone = true
    return fn(...args)
  }
}

/** Handlers for every hook there is, and the order in which they were called; repeats in a row count once. */
function recorder(): { log: string[]; handlers: AgentHookMap } {
  const log: string[] = []
  const record = (name: string) => () => void (log.at(-1) !== name && log.push(name))
  return { log, handlers: Object.fromEntries([...hookNames].map((name) => [name, record(name)])) }
}
