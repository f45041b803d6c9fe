import { describe, expect, test } from 'vitest'
import {
  AgentAbortedError,
  type AgentOptions,
  type AgentStats,
  createAgent,
  createMemoryStore,
  createSession,
  createSpawnTool,
  flattenTurns,
  loadSession,
  statsByModel,
  type ToolDef,
} from '../../src/index.ts'
import { call, fakeClock, type ScriptedProvider, type Step, scripted, texts, tool } from '../../src/testing/index.ts'
import type { Session, SessionStore } from '../../src/types.ts'

describe('stats', () => {
  test('A188 totals take in children and their children, turns and turnUsage only the parent', async () => {
    const provider = cast({
      go: [spend([hire('1', 'child')], 100), spend('done', 200)],
      child: [spend([hire('2', 'grandchild')], 10), spend('did it', 20)],
      grandchild: [spend('did that', 1)],
    })
    const stats = await team(provider).run({ prompt: 'go' })
    expect(stats).toMatchObject({ totalIn: 331, totalOut: 662, cost: 331, turns: 2, text: 'done' })
    expect(stats.turnUsage).toEqual([used(100), used(200)])
    expect(stats.children).toMatchObject([
      { totalIn: 31, totalOut: 62, cost: 31, turns: 2, depth: 1, task: 'child', text: 'did it' },
    ])
    expect(stats.children[0]!.children).toMatchObject([{ totalIn: 1, turns: 1, depth: 2, children: [] }])
  })

  test('A188 the cost is absent when no price is known', async () => {
    const stats = await createAgent({ provider: scripted('hi') }).run({ prompt: 'go' })
    expect('cost' in stats).toBe(false)
    expect(stats).toMatchObject({ totalIn: 10, totalOut: 5 })
  })

  test('A189 flattenTurns lists every model call, parents before children, depth first', () => {
    expect(flattenTurns(tree).map(({ input }) => input)).toEqual([1, 2, 10, 100, 20])
  })

  test('A189 statsByModel adds up the whole tree by model', () => {
    expect([...statsByModel(tree)]).toEqual([
      ['big', { input: 103, output: 3, cost: 5, cacheRead: 7, cacheCreation: 9, turns: 3 }],
      ['small', { input: 30, output: 2, cacheRead: 0, cacheCreation: 0, turns: 2 }],
    ])
  })

  test.each([
    ['word', { text: 'hi' }],
    ['thought', { thinking: 'hm', text: 'hi' }],
    ['call', [call('1', 'wait')]],
  ] satisfies [string, Step][])('A190 timeTillFirstTokenMs is the time until the first %s', async (_, first) => {
    const clock = fakeClock(1000)
    const later = (step: Step) => async () => {
      await clock.advance(250)
      return step
    }
    const provider = scripted(later(first), later('done'))
    const wait = tool('wait', () => 'waited')
    const stats = await createAgent({ provider, tools: { wait }, clock }).run({ prompt: 'go' })
    expect(stats.timeTillFirstTokenMs).toBe(250)
    expect(stats.elapsed).toBe(provider.requests.length * 250)
  })

  test('A190 there is no such time when nothing came', async () => {
    const done: AgentStats[] = []
    const agent = createAgent({
      provider: scripted(new Error('down')),
      hooks: { 'agent:done': (s) => void done.push(s) },
    })
    await expect(agent.run({ prompt: 'go' })).rejects.toThrow('down')
    expect(done).toMatchObject([{ turns: 1, totalIn: 0 }])
    expect('timeTillFirstTokenMs' in done[0]!).toBe(false)
  })

  test('A191 children are listed in the order in which they finished', async () => {
    const held = Promise.withResolvers<Step>()
    const provider = cast({
      go: [[hire('1', 'slow'), hire('2', 'fast')], 'done'],
      slow: [() => held.promise],
      fast: ['f'],
    })
    const agent = team(provider)
    agent.hooks.hook('spawn:complete', ({ callId }) => void (callId === '2' && held.resolve('s')))
    const stats = await agent.run({ prompt: 'go' })
    expect(stats.children.map(({ task }) => task)).toEqual(['fast', 'slow'])
    expect(texts(agent.turns)[2]).toBe('user: ←s ←f')
  })
})

describe('spawn', () => {
  test('A192 a child has what its parent has, and knows nothing but its task', async () => {
    const provider = cast({
      go: [[call('1', 'Hire', { task: 'child', context: 'of mine' })], 'done'],
      'child\n\nof mine': ['ok'],
    })
    await team(provider, {
      system: 'be brief',
      toolAliases: { spawn: 'Hire' },
      behavior: { maxTokens: 77 },
      mcpServers: [{ name: 'fs', transport: 'stdio' }],
      mcpConnector: async () => ({ tools: { ls: tool('mcp_fs_ls', () => '') }, close: async () => {} }),
    }).run({ prompt: 'go' })
    const [parents, childs] = provider.requests
    expect(texts(childs!.messages)).toEqual(['user: child\n\nof mine'])
    expect(toolNames(childs!)).toEqual(['Hire', 'mcp_fs_ls'])
    for (const field of ['system', 'tools', 'maxTokens', 'model'] as const)
      expect(childs![field]).toEqual(parents![field])
  })

  test('A192 its preset, model and thinking take the place of the parent’s', async () => {
    const provider = cast({ go: [[hire('1', 'child')], 'done'], child: [[call('2', 'Look')], 'ok'] })
    const look = tool('look', () => 'seen')
    const preset = { system: 'look', tools: { look }, toolAliases: { look: 'Look' }, behavior: { maxTokens: 5 } }
    const spawn = createSpawnTool({ preset, model: 'small', thinking: 'low' })
    const agent = team(provider, { system: 'lead', tools: { spawn }, behavior: { maxTokens: 77 } })
    await agent.run({ prompt: 'go' })
    expect(provider.requests[1]).toMatchObject({ system: 'look', maxTokens: 5, model: 'small', thinking: 'low' })
    expect(toolNames(provider.requests[1]!)).toEqual(['Look'])
    expect(texts(provider.requests[2]!.messages)).toEqual(['user: child', 'assistant: →Look({})', 'user: ←seen'])
    expect(provider.requests[3]).toMatchObject({ system: 'lead', maxTokens: 77, model: 'script-1', thinking: 'off' })
  })

  test('A192 the model may choose among presets by name', async () => {
    const provider = cast({
      go: [
        [call('1', 'spawn', { task: 'a', preset: 'poet' }), call('2', 'spawn', { task: 'b', preset: 'cook' })],
        'done',
      ],
      a: ['rhyme'],
    })
    const agent = team(provider, { tools: { spawn: createSpawnTool({ presets: { poet: { system: 'rhyme' } } }) } })
    await agent.run({ prompt: 'go' })
    expect(provider.requests[1]!.system).toBe('rhyme')
    expect(texts(agent.turns)[2]).toBe('user: ←rhyme ←Tool error: there is no preset "cook"; choose poet')
  })

  test('A193 so many children at a time, the others wait', async () => {
    let running = 0
    let peak = 0
    const work = async (): Promise<Step> => {
      peak = Math.max(peak, ++running)
      await new Promise((resolve) => setTimeout(resolve, 2))
      running--
      return 'ok'
    }
    const names = ['a', 'b', 'c', 'd', 'e']
    const lines = Object.fromEntries(names.map((name) => [name, [work]]))
    const provider = cast({ go: [names.map((name) => hire(name, name)), 'done'], ...lines })
    const stats = await team(provider, { tools: { spawn: createSpawnTool({ maxConcurrent: 2 }) } }).run({
      prompt: 'go',
    })
    expect(stats.children).toHaveLength(5)
    expect(peak).toBe(2)
  })

  test('A193 a child that spawns does not wait for the place it takes itself', async () => {
    const provider = cast({ go: [[hire('1', 'a')], 'done'], a: [[hire('2', 'b')], 'a is done'], b: ['b is done'] })
    const agent = team(provider, { tools: { spawn: createSpawnTool({ maxConcurrent: 1 }) } })
    const stats = await agent.run({ prompt: 'go', signal: AbortSignal.timeout(500) })
    expect(stats.text).toBe('done')
  })

  test('A193 two agents with the same tool do not wait for each other', async () => {
    const held = Promise.withResolvers<Step>()
    const tools = { spawn: createSpawnTool({ maxConcurrent: 1 }) }
    const slow = team(cast({ go: [[hire('1', 'a')], 'done'], a: [() => held.promise] }), { tools })
    const other = team(cast({ go: [[hire('1', 'b')], 'done'], b: ['ok'] }), { tools })
    const first = slow.run({ prompt: 'go' })
    const second = other.run({ prompt: 'go', signal: AbortSignal.timeout(500) })
    const outcome = await second.then(({ text }) => text, String)
    held.resolve('ok')
    await first
    expect(outcome).toBe('done')
  })

  test('spawn is not offered three levels down', async () => {
    const provider = cast({
      go: [[hire('1', 'one')], 'done'],
      one: [[hire('2', 'two')], 'done'],
      two: [[hire('3', 'three')], 'done'],
      three: [[hire('4', 'four')], 'done'],
    })
    const agent = team(provider)
    const refused: unknown[] = []
    agent.hooks.hook('child:tool:error', ({ error, depth }) => void refused.push([depth, String(error)]))
    await agent.run({ prompt: 'go' })
    expect(provider.requests.slice(0, 4).map(toolNames)).toEqual([['spawn'], ['spawn'], ['spawn'], []])
    expect(refused).toEqual([[3, 'Error: Unknown tool: spawn']])
  })

  test('aborting the parent aborts its children', async () => {
    const store = createMemoryStore()
    const { agent, signals } = interrupted(await createSession({ store, id: 's' }))
    const error = await agent.run({ prompt: 'go' }).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(AgentAbortedError)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    expect((await store.read('s/1')).at(-1)).toMatchObject({ type: 'run_ended', status: 'aborted' })
  })

  test('an aborted parent waits for its children to end, so that their cost and story are complete', async () => {
    const store = createMemoryStore()
    const { agent } = interrupted(await createSession({ store, id: 's' }))
    agent.hooks.hook('child:turn:after', () => new Promise((resolve) => setTimeout(resolve, 5)))
    const error = await agent.run({ prompt: 'go' }).catch((error: unknown) => error)
    expect(error).toMatchObject({ stats: { totalIn: 107, children: [{ totalIn: 7, stopReason: 'aborted' }] } })
    expect((await store.read('s/1')).at(-1)).toMatchObject({ type: 'run_ended', status: 'aborted' })
  })

  test('a child that fails gives an error result, and what it cost is counted', async () => {
    const provider = cast({
      go: [spend([hire('1', 'child')], 100), spend('I see', 100)],
      child: [spend([call('2', 'look')], 7), new Error('overloaded')],
    })
    const agent = team(provider, { tools: { spawn: createSpawnTool(), look: tool('look', () => 'seen') } })
    const stats = await agent.run({ prompt: 'go' })
    expect(agent.turns[2]!.content).toEqual([
      { type: 'tool_result', callId: '1', output: 'Tool error: Provider "scripted" failed: overloaded', isError: true },
    ])
    expect(stats).toMatchObject({ text: 'I see', totalIn: 207, children: [{ totalIn: 7, stopReason: 'error' }] })
  })
})

describe('sessions of children', () => {
  test('a child has a session of its own, named after its call, below that of its parent', async () => {
    const { store, session } = await family()
    const [root, child] = await store.list({ order: 'id' }).then(({ sessions }) => sessions)
    expect([root, child]).toMatchObject([{ id: 's' }, { id: 's/1', parent: 's' }])
    expect(root).not.toHaveProperty('parent')
    expect(texts((await loadSession(store, 's/1')).turns)).toEqual([
      'user: child',
      'assistant: →spawn({"task":"grandchild"})',
      'user: ←c',
      'assistant: b',
    ])
    const parent = { session: 's', runId: session.runs[0]!.id, callId: '1' }
    expect((await store.read('s/1'))[0]).toMatchObject({ type: 'run_started', parent })
  })

  test('the session of a grandchild belongs to the child, and goes when that goes', async () => {
    const { store } = await family()
    expect((await store.list({ order: 'id' })).sessions[2]).toMatchObject({ id: 's/1/2', parent: 's/1' })
    await store.delete('s/1')
    expect((await store.list({ order: 'id' })).sessions.map(({ id }) => id)).toEqual(['s'])
  })

  test('a child that was interrupted is found again and goes on without repeating anything', async () => {
    const store = createMemoryStore()
    const crash = Promise.withResolvers<void>()
    const hang = () => {
      crash.resolve()
      return new Promise<Step>(() => {})
    }
    let looks = 0
    const tools = { spawn: createSpawnTool(), look: tool('look', () => `look ${++looks}`) }
    const before = cast({ go: [[hire('1', 'child')]], child: [[call('2', 'look')], hang] })
    void team(before, { session: await createSession({ store, id: 's' }), tools }).run({ prompt: 'go' })
    await crash.promise

    const session = await loadSession(await copyOf(store), 's')
    const provider = cast({ go: ['done'], child: ['late but here'] })
    const stats = await team(provider, { session, tools }).run()
    expect(texts(provider.requests[0]!.messages)).toEqual(['user: child', 'assistant: →look({})', 'user: ←look 1'])
    expect(texts(provider.requests[1]!.messages).at(-1)).toBe('user: ←late but here')
    expect(stats).toMatchObject({ text: 'done', children: [{ childId: 's/1' }] })
  })

  test('a child that had finished when its parent was interrupted gives its answer without being asked again', async () => {
    const store = createMemoryStore()
    const before = cast({ go: [[hire('1', 'child')], 'done'], child: ['the answer'] })
    await team(before, { session: await createSession({ store, id: 's' }) }).run({ prompt: 'go' })

    const session = await loadSession(await copyOf(store, 'call_started'), 's')
    const provider = cast({ go: ['done'] })
    await team(provider, { session }).run()
    expect(provider.requests.map(({ messages }) => texts(messages).at(-1))).toEqual(['user: ←the answer'])
  })
})

const hire = (id: string, task: string) => call(id, 'spawn', { task })
const toolNames = ({ tools }: ScriptedProvider['requests'][number]) => tools.map(({ name }) => name)

const used = (tokens: number) => ({ input: tokens, output: 2 * tokens, cost: tokens, model: 'script-1' })
function spend(step: string | ReturnType<typeof call>[], tokens: number): Step {
  return { ...(typeof step === 'string' ? { text: step } : { calls: step }), usage: used(tokens) }
}

/** A model with a script for each conversation, known by its first message. */
function cast(roles: Record<string, Step[]>): ScriptedProvider {
  const next: Step = ({ messages }) => {
    const role = texts(messages)[0]!.replace('user: ', '')
    return roles[role]?.shift() ?? new Error(`"${role}" has no more lines`)
  }
  return scripted(...Array(20).fill(next))
}

function team(provider: ScriptedProvider, options: Partial<AgentOptions> = {}) {
  const tools: Record<string, ToolDef> = { spawn: createSpawnTool() }
  return createAgent({ provider, tools, ...options })
}

/** A run in which a child spawns a child. */
async function family() {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const child = [[hire('2', 'grandchild')], 'b']
  await team(cast({ go: [[hire('1', 'child')], 'done'], child, grandchild: ['c'] }), { session }).run({ prompt: 'go' })
  return { store, session }
}

/** A parent that is aborted while its child, after a first turn that cost 7, waits for the model. */
function interrupted(session: Session) {
  const signals: AbortSignal[] = []
  const hang: Step = (_, signal) => {
    signals.push(signal)
    agent.abort()
    return new Promise(() => {})
  }
  const provider = cast({ go: [spend([hire('1', 'child')], 100)], child: [spend([call('2', 'look')], 7), hang] })
  const agent = team(provider, { session, tools: { spawn: createSpawnTool(), look: tool('look', () => 'seen') } })
  return { agent, signals }
}

/** What a crash leaves behind: all there is, or of the parent only the entries up to the first of type `last`. */
async function copyOf(store: SessionStore, last?: string): Promise<SessionStore> {
  const copy = createMemoryStore()
  const { epoch } = await copy.lease('s', { owner: 'crashed', ttlMs: 0, create: true })
  for (const { id, parent } of await store.list({ order: 'id' }).then(({ sessions }) => sessions)) {
    const entries = await store.read(id)
    const end = parent ? entries.length : entries.findIndex(({ type }) => type === last) + 1 || entries.length
    await copy.append(id, entries.slice(0, end), { epoch, head: 0, ...(parent && { holder: parent }) })
  }
  return copy
}

const leaf = {
  runId: 'r',
  status: 'completed' as const,
  text: '',
  stopReason: 'end',
  totalIn: 0,
  totalOut: 0,
  turns: 1,
  elapsed: 0,
  depth: 1,
}
const small = { output: 1, model: 'small' }
const big = { output: 1, model: 'big', cost: 2, cacheRead: 3, cacheCreation: 4 }
const tree: AgentStats = {
  ...leaf,
  turnUsage: [
    { ...big, input: 1 },
    { ...big, input: 2 },
  ],
  children: [
    {
      ...leaf,
      childId: 'a',
      turnUsage: [{ ...small, input: 10 }],
      children: [
        {
          ...leaf,
          childId: 'c',
          turnUsage: [{ input: 100, output: 1, model: 'big', cost: 1, cacheRead: 1, cacheCreation: 1 }],
          children: [],
        },
      ],
    },
    { ...leaf, childId: 'b', turnUsage: [{ ...small, input: 20 }], children: [] },
  ],
}

test('what a run may not use, the children it spawns may not use either', async () => {
  const spawning = createSpawnTool()
  const far = tool('mcp_x_far', () => 'far')
  const provider = scripted([call('1', 'spawn', { task: 'look' })], 'child done', 'fin')
  const agent = createAgent({
    provider,
    tools: { spawning, near: tool('near', () => 'near') },
    mcpServers: [{ name: 'x', transport: 'stdio', command: 'x' }],
    mcpConnector: async () => ({ tools: { far }, close: async () => {} }),
  })
  await agent.run({ prompt: 'go', tools: { spawning } })
  expect(provider.requests.map((request) => request.tools.map((spec) => spec.name))).toEqual([
    ['spawn'],
    ['spawn'],
    ['spawn'],
  ])
})

test("a child behaves as its parent's run does, except where its preset says otherwise, and never in the parent's shape", async () => {
  const provider = scripted([call('1', 'spawn', { task: 'look' })], 'child', 'fin', [call('o', '__output__', { n: 1 })])
  const spawn = createSpawnTool({ preset: { behavior: { maxTokens: 7 } } })
  const schema = { type: 'object', properties: { n: { type: 'number' } } }
  const agent = createAgent({ provider, tools: { spawn }, behavior: { maxTokens: 100, cache: true, schema } })
  await agent.run({ prompt: 'go', behavior: { cache: false } })
  const [parent, child, ...rest] = provider.requests
  expect([parent?.maxTokens, parent?.cache]).toEqual([100, false])
  expect([child?.maxTokens, child?.cache]).toEqual([7, false])
  expect(rest.map((request) => request.toolChoice)).toEqual([undefined, { name: '__output__' }])
})
