import { describe, expect, test, vi } from 'vitest'
import type { ResolvedBehavior } from '../../src/core/behavior.ts'
import { AgentAbortedError, createAgent, createSession, type Extension, loadSession } from '../../src/index.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { call, fakeClock, memoryExecution, scripted, texts, tool } from '../../src/testing/index.ts'

describe('warming up', () => {
  test('A001 createAgent returns before MCP servers are connected', async () => {
    const { connector, connect, log } = slowConnector()
    const agent = createAgent({ provider: scripted(), mcpServers, mcpConnector: connector, eager: true })
    log.push('created')
    const warm = agent.warmup().then(() => log.push('warm'))
    await vi.waitFor(() => expect(log).toEqual(['created', 'connecting']))
    connect()
    await warm
    expect(log).toEqual(['created', 'connecting', 'connected', 'warm'])
  })

  test('A001 without eager nothing is connected before the first run', async () => {
    const { connector, connect, log } = slowConnector()
    const agent = createAgent({ provider: scripted('hi'), mcpServers, mcpConnector: connector })
    await tick()
    expect(log).toEqual([])
    connect()
    await agent.run({ prompt: 'hello' })
    expect(log).toEqual(['connecting', 'connected'])
  })

  test('A002 eager connects in the background without any run', async () => {
    const provider = scripted()
    let connects = 0
    const mcpConnector = async () => ({ tools: {}, close: async () => {}, n: ++connects })
    createAgent({ provider, mcpServers, mcpConnector, eager: true })
    await vi.waitFor(() => expect(connects).toBe(1))
    expect(provider.requests).toEqual([])
  })

  test('A003 a failed eager warmup shows on the next warmup, which is followed by a fresh try', async () => {
    const { connector, log } = failingOnce()
    const agent = createAgent({ provider: scripted('hi'), mcpServers, mcpConnector: connector, eager: true })
    await tick() // an unhandled rejection would fail this file
    await expect(agent.warmup()).rejects.toThrow('no such server')
    expect(log).toEqual(['failed'])
    await agent.run({ prompt: 'hello' })
    expect(log).toEqual(['failed', 'connected'])
  })

  test('A003 a failed eager warmup shows on the next run', async () => {
    const { connector } = failingOnce()
    const provider = scripted('hi')
    const agent = createAgent({ provider, mcpServers, mcpConnector: connector, eager: true })
    await tick()
    await expect(agent.run({ prompt: 'hello' })).rejects.toThrow('no such server')
    expect([agent.isRunning, provider.requests.length]).toEqual([false, 0])
    expect((await agent.run({ prompt: 'hello' })).text).toBe('hi')
  })

  test('A004 concurrent and later warmups and runs share one connection', async () => {
    const { connector, connect, log } = slowConnector()
    const agent = createAgent({ provider: scripted('hi'), mcpServers, mcpConnector: connector, eager: true })
    const warmups = Promise.all(Array.from({ length: 5 }, () => agent.warmup()))
    const run = agent.run({ prompt: 'hello' })
    connect()
    await Promise.all([warmups, run])
    await agent.warmup()
    expect(log).toEqual(['connecting', 'connected'])
  })

  test('A005 MCP servers and other preparations warm up side by side', async () => {
    const clock = fakeClock()
    const after50 = () => new Promise<void>((resolve) => void clock.timer(50, resolve))
    const mcpConnector = () => after50().then(() => ({ tools: {}, close: async () => {} }))
    const skills: Extension = { name: 'skills', warmup: after50 }
    const agent = createAgent({ provider: scripted(), mcpServers, mcpConnector, extensions: [skills], clock })
    let isWarm = false
    const warm = agent.warmup().then(() => (isWarm = true))
    await clock.advance(49)
    expect(isWarm).toBe(false)
    await clock.advance(1)
    expect(isWarm).toBe(true)
    await warm
  })

  test('abort ends a run that is still warming up', async () => {
    const { connector } = slowConnector()
    const provider = scripted('never said')
    const agent = createAgent({ provider, mcpServers, mcpConnector: connector })
    const run = outcome(agent.run({ prompt: 'hello' }))
    await tick()
    agent.abort()
    expect(await orStuck(run)).toBeInstanceOf(AgentAbortedError)
    expect(provider.requests).toEqual([])
  })
})

describe('where tools run', () => {
  test('A006 the execution context is spawned once, on the first run', async () => {
    const execution = memoryExecution()
    const cwds: string[] = []
    const where = tool('where', (_, { handle }) => String(cwds.push(`${handle.id} ${handle.cwd}`)))
    const provider = scripted([call('c1', 'where')], 'one', [call('c2', 'where')], 'two')
    const agent = createAgent({ provider, execution, tools: { where } })
    await agent.warmup()
    expect([execution.counts.spawn, agent.handle]).toEqual([0, undefined])
    await agent.run({ prompt: 'a' })
    await agent.run({ prompt: 'b' })
    expect(execution.counts.spawn).toBe(1)
    expect(cwds).toEqual(['memory-1 /project', 'memory-1 /project'])
  })

  test('a context that could not be spawned is tried again by the next run', async () => {
    const execution = memoryExecution()
    const { spawn } = execution
    execution.spawn = async () => {
      execution.spawn = spawn
      throw new Error('no container')
    }
    const agent = createAgent({ provider: scripted('hi'), execution })
    await expect(agent.run({ prompt: 'a' })).rejects.toThrow('no container')
    expect((await agent.run({ prompt: 'a' })).text).toBe('hi')
  })

  test('A015 destroy closes the connections and the context, once', async () => {
    const execution = memoryExecution()
    let closes = 0
    const mcpConnector = async () => ({ tools: {}, close: async () => void closes++ })
    const agent = createAgent({ provider: scripted('hi'), execution, mcpServers, mcpConnector })
    await agent.run({ prompt: 'hello' })
    expect([closes, execution.counts.destroy]).toEqual([0, 0])
    await agent.destroy()
    await agent.destroy()
    expect([closes, execution.counts.destroy]).toEqual([1, 1])
    await expect(agent.run({ prompt: 'again' })).rejects.toThrow('destroyed')
  })

  test('A015 destroy of an agent that never ran starts nothing', async () => {
    const execution = memoryExecution()
    const { connector, log } = slowConnector()
    const agent = createAgent({ provider: scripted(), execution, mcpServers, mcpConnector: connector })
    await agent.destroy()
    expect([log, execution.counts]).toEqual([[], { spawn: 0, destroy: 0 }])
  })

  test('A015 destroy stops a run under way before it lets go of anything', async () => {
    const execution = memoryExecution()
    const log: string[] = []
    const { destroy } = execution
    execution.destroy = (handle) => {
      log.push('context closed')
      return destroy(handle)
    }
    const provider = scripted(() => hang())
    const agent = createAgent({ provider, execution, hooks: { 'session:end': () => void log.push('run ended') } })
    const run = outcome(agent.run({ prompt: 'hello' }))
    await tick()
    await agent.destroy()
    expect(await run).toBeInstanceOf(AgentAbortedError)
    expect(log).toEqual(['run ended', 'context closed'])
  })

  test('destroy does not wait for a server that does not answer, and closes it should it answer later', async () => {
    const { connector, connect, log } = slowConnector()
    const agent = createAgent({ provider: scripted(), mcpServers, mcpConnector: connector, eager: true })
    expect(await orStuck(agent.destroy())).toBe(undefined)
    connect()
    await tick()
    expect(log).toEqual(['connecting', 'connected', 'closed'])
  })
})

describe('what a run starts from', () => {
  test('A007 an empty session without a prompt has nothing to do', async () => {
    const provider = scripted('hi')
    const session = await createSession()
    const agent = createAgent({ provider, session })
    await expect(agent.run()).rejects.toThrow(/pass a prompt/)
    await expect(createAgent({ provider }).run({})).rejects.toThrow(/pass a prompt/)
    expect([provider.requests, session.log.head, agent.isRunning]).toEqual([[], 0, false])
    await session.addTurns([user('hello')])
    expect((await agent.run()).text).toBe('hi')
  })

  test('A007 an empty prompt is refused at once', async () => {
    const agent = createAgent({ provider: scripted('hi') })
    await expect(agent.run({ prompt: '' })).rejects.toThrow(TypeError)
    await expect(agent.run({ prompt: [] })).rejects.toThrow(TypeError)
    expect(agent.turns).toEqual([])
  })

  test('A008 a run without a prompt answers the stored user turn', async () => {
    const provider = scripted('hi')
    const session = await createSession()
    await session.addTurns([user('stored before')])
    await createAgent({ provider, session }).run()
    expect(provider.requests[0]?.messages).toEqual([session.turns[0]])
    expect(texts(session.turns)).toEqual(['user: stored before', 'assistant: hi'])
  })

  test('A009 behavior is taken field by field from the run, else the agent, else the default', async () => {
    const calls = [call('c1', 'noop')]
    const provider = scripted(calls, calls, calls, 'unused')
    const tools = { noop: tool('noop', () => 'ok') }
    const agent = createAgent({ provider, tools, behavior: { maxTokens: 111, maxTurns: 9, cache: false } })
    const stats = await agent.run({ prompt: 'a', behavior: { maxTurns: 1 } })
    expect(stats.stopReason).toBe('max_turns')
    await agent.run({ prompt: 'b', behavior: { maxTurns: 2, maxTokens: 222, cache: undefined } as object })
    expect(provider.requests.map(({ maxTokens, cache }) => [maxTokens, cache])).toEqual([
      [111, false],
      [222, false],
      [222, false],
    ])
  })

  test('A010 the defaults are those of the table', async () => {
    let resolved: ResolvedBehavior | undefined
    const spy: Extension = { name: 'spy', start: ({ settings: { behavior } }) => void (resolved = behavior) }
    await createAgent({ provider: scripted('hi'), extensions: [spy] }).run({ prompt: 'hello' })
    expect(resolved).toEqual({
      maxTurns: Number.POSITIVE_INFINITY,
      maxTokens: 16384,
      maxConcurrentTools: 10,
      cache: true,
      dedupReads: true,
      requireReadBeforeEdit: false,
      readLineNumbers: true,
      elideStaleReads: false,
      compactStrategy: 'off',
      compactThreshold: 131072,
      compactKeepTurns: 4,
      toolDisclosure: 'eager',
      persistExcludeTools: [],
    })
  })

  test('A011 an empty tool set disables tools for one run', async () => {
    const provider = scripted('one', 'two')
    const mcpConnector = async () => ({ tools: { far: tool('mcp_x_far', () => '') }, close: async () => {} })
    const tools = { near: tool('near', () => '') }
    const agent = createAgent({ provider, tools, mcpServers, mcpConnector })
    await agent.run({ prompt: 'a', tools: {} })
    await agent.run({ prompt: 'b' })
    expect(provider.requests.map((request) => request.tools.map(({ name }) => name))).toEqual([
      [],
      ['near', 'mcp_x_far'],
    ])
  })

  test('A035 model, system, thinking and images reach the provider', async () => {
    const provider = scripted('one', 'two')
    const agent = createAgent({ provider, system: 'You are an agent.' })
    const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw0=' } as const
    const { type: _, ...bare } = image
    await agent.run({ prompt: 'look', model: 'big-1', system: 'Be brief.', thinking: 'low', images: [image, bare] })
    await agent.run({ prompt: 'again' })
    const [first, second] = provider.requests
    expect(first).toMatchObject({ model: 'big-1', system: 'You are an agent.\n\nBe brief.', thinking: 'low' })
    expect(first?.thinkingBudget).toBe(4096)
    expect(first?.messages.map(({ content }) => content)).toEqual([[{ type: 'text', text: 'look' }, image, image]])
    expect(second).toMatchObject({ model: 'script-1', system: 'You are an agent.', thinking: 'off' })
  })
})

describe('one run at a time', () => {
  test('A012 a second run while one is under way is refused at once and changes nothing', async () => {
    const model = deferred<string>()
    const provider = scripted(() => model.promise)
    const agent = createAgent({ provider })
    const run = agent.run({ prompt: 'first' })
    await expect(agent.run({ prompt: 'second' })).rejects.toThrow(/steer.*followUp.*waitForIdle/)
    model.resolve('done')
    expect((await run).text).toBe('done')
    expect(texts(agent.turns)).toEqual(['user: first', 'assistant: done'])
  })

  test('A013 isRunning is true during a run, and waitForIdle resolves after it', async () => {
    const model = deferred<string>()
    const agent = createAgent({ provider: scripted(() => model.promise, 'second') })
    const log: unknown[] = []
    agent.hooks.hook('session:end', () => void log.push('session:end', agent.isRunning))
    await agent.waitForIdle()
    const run = agent.run({ prompt: 'hello' })
    const idle = agent.waitForIdle().then(() => log.push('idle', agent.isRunning))
    expect(agent.isRunning).toBe(true)
    await tick()
    model.resolve('done')
    await idle
    expect(log).toEqual(['session:end', true, 'idle', false])
    await run
    expect((await agent.run({ prompt: 'more' })).text).toBe('second')
  })

  test('A013 waitForIdle resolves after a run that failed, and the agent can run again', async () => {
    const agent = createAgent({ provider: scripted(new Error('down'), 'up') })
    const failed = outcome(agent.run({ prompt: 'hello' }))
    await agent.waitForIdle()
    expect(agent.isRunning).toBe(false)
    expect((await agent.run()).text).toBe('up')
    expect(await failed).toBeInstanceOf(Error)
  })

  test.each(['memory', 'session'])('A014 reset clears turns and queues (%s)', async (kind) => {
    const store = createMemoryStore()
    const session = kind === 'session' ? await createSession({ store, id: 's' }) : undefined
    const provider = scripted('one', 'two', 'three')
    const agent = createAgent({ provider, ...(session && { session }) })
    await agent.run({ prompt: 'a' })
    await agent.followUp('forget me')
    await agent.steer('me too')
    await agent.reset()
    expect(agent.turns).toEqual([])
    await agent.run({ prompt: 'b' })
    expect(texts(agent.turns)).toEqual(['user: b', 'assistant: two'])
    if (session) expect((await loadSession(store, 's')).turns).toEqual(agent.turns)
  })

  test('A014 reset is refused while a run is under way', async () => {
    const model = deferred<string>()
    const agent = createAgent({ provider: scripted(() => model.promise) })
    const run = agent.run({ prompt: 'a' })
    await expect(agent.reset()).rejects.toThrow(/running/)
    model.resolve('done')
    await run
    expect(texts(agent.turns)).toEqual(['user: a', 'assistant: done'])
  })
})

const mcpServers = [{ name: 'x', transport: 'stdio', command: 'x' }] as const

const user = (text: string) => ({ role: 'user', content: [{ type: 'text', text }] }) as const
const tick = () => new Promise<void>((resolve) => setTimeout(resolve, 0))
const hang = () => new Promise<never>(() => {})
/** What a promise comes to, error or not. */
const outcome = (promise: Promise<unknown>) => promise.catch((error: unknown) => error)
const orStuck = (promise: Promise<unknown>) => Promise.race([promise, tick().then(() => 'stuck')])

function deferred<T>() {
  return Promise.withResolvers<T>()
}

/** Connects when told to, and says when it does what. */
function slowConnector() {
  const { promise, resolve: connect } = deferred<void>()
  const log: string[] = []
  const connector = async () => {
    log.push('connecting')
    await promise
    log.push('connected')
    return { tools: {}, close: async () => void log.push('closed') }
  }
  return { connector, connect, log }
}

function failingOnce() {
  const log: string[] = []
  const connector = async () => {
    log.push(log.length === 0 ? 'failed' : 'connected')
    if (log.length === 1) throw new Error('no such server')
    return { tools: {}, close: async () => {} }
  }
  return { connector, log }
}
