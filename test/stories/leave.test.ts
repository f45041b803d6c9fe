import { expect, test, vi } from 'vitest'
import { createAgent, createMemoryStore, createSession, createSpawnTool, loadSession } from '../../src/index.ts'
import { call, type Step, scripted, texts, tool } from '../../src/testing/index.ts'
import type { Agent, ReplayClass, SessionStore, ToolContext, ToolDef } from '../../src/types.ts'

type Tools = Record<string, ToolDef>

async function firstProcess(store: SessionStore, tools: Tools, ...script: Step[]) {
  const session = await createSession({ store, id: 's' })
  return createAgent({ provider: scripted(...script), session, tools })
}

async function nextProcess(store: SessionStore, tools: Tools, ...script: Step[]) {
  const session = await loadSession(store, 's')
  const provider = scripted(...script)
  return { agent: createAgent({ provider, session, tools }), provider }
}

/** Begins a run, and leaves it after `begun`. */
async function leaveAfter(begun: Promise<void>, agent: Agent): Promise<void> {
  const run = agent.run({ prompt: 'go' })
  await begun
  await agent.leave()
  await run
}

/** A reply that never comes. */
function silent() {
  const asked = Promise.withResolvers<void>()
  const step: Step = (_, signal) => {
    asked.resolve()
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  return { step, asked: asked.promise }
}

const typesIn = async (store: SessionStore): Promise<string[]> => (await store.read('s')).map(({ type }) => type)

test('ST19 a process that leaves during a model call logs no abort, and another one goes on at once', async () => {
  const store = createMemoryStore()
  const model = silent()
  const agent = await firstProcess(store, {}, model.step)
  const run = agent.run({ prompt: 'go' })
  await model.asked
  await agent.leave()
  expect(await run).toMatchObject({ status: 'left', stopReason: 'left' })
  expect(await typesIn(store)).toEqual(['run_started', 'turn', 'attempt', 'run_ended'])
  expect(await store.find('s')).toMatchObject({ status: 'interrupted', attention: 'interrupted' })

  const next = await nextProcess(store, {}, 'Done.')
  expect(await next.agent.run()).toMatchObject({ status: 'completed', text: 'Done.' })
  expect(texts(next.agent.turns)).toEqual(['user: go', 'assistant: Done.'])
  expect(next.agent.log.transcript.crashes).toBe(0)
  expect(await store.find('s')).toMatchObject({ status: 'idle' })
})

test('ST19 what was streamed is counted, and the next process asks the model again', async () => {
  const store = createMemoryStore()
  const agent = await firstProcess(store, {}, 'A long answer that is cut off.')
  agent.hooks.hook('stream:text', () => void agent.leave())
  expect(await agent.run({ prompt: 'go' })).toMatchObject({ status: 'left' })
  expect(texts(agent.turns)).toEqual(['user: go'])
  expect((await store.find('s'))!.tokens).toBeGreaterThan(0)
  const next = await nextProcess(store, {}, 'Done.')
  await next.agent.run()
  expect(texts(next.agent.turns)).toEqual(['user: go', 'assistant: Done.'])
})

interface Started {
  readonly key: string
  readonly attempt: number
}

/** A tool whose first executions never end, by default one. `begun` resolves when the last of them has begun. */
function endless(replay: ReplayClass, executions = 1) {
  const begun = Promise.withResolvers<void>()
  const starts: Started[] = []
  const work = tool(
    'work',
    (_, { idempotencyKey: key, attempt }: ToolContext) => {
      starts.push({ key, attempt })
      if (starts.length > executions) return 'worked'
      if (starts.length === executions) begun.resolve()
      return new Promise<string>(() => {})
    },
    { replay },
  )
  return { tools: { work, other: tool('other', () => 'other') }, begun: begun.promise, starts }
}

test.each(['pure', 'keyed'] as const)(
  'ST19 a %s call that was under way runs again in the next process',
  async (replay) => {
    const store = createMemoryStore()
    const { tools, begun, starts } = endless(replay)
    const agent = await firstProcess(store, tools, [call('1', 'work'), call('2', 'other')])
    await leaveAfter(begun, agent)
    expect((await typesIn(store)).filter((type) => type === 'call_result')).toEqual([])
    const next = await nextProcess(store, tools, 'Done.')
    await next.agent.run()
    expect(texts(next.agent.turns).slice(2)).toEqual(['user: ←worked ←other', 'assistant: Done.'])
    expect(new Set(starts.map(({ key }) => key)).size).toBe(1)
  },
)

test('ST19 an opaque call that was under way is told as unknown, and calls that had not begun run in the next process', async () => {
  const store = createMemoryStore()
  const { tools, begun, starts } = endless('opaque')
  const agent = await firstProcess(store, tools, [call('1', 'work'), call('2', 'other')])
  await leaveAfter(begun, agent)
  const next = await nextProcess(store, tools, 'Done.')
  expect(next.agent.session!.pending).toEqual([])
  await next.agent.run()
  expect(texts(next.agent.turns)[2]).toMatch(/←Interrupted: the process stopped .*check before repeating it\. ←other$/)
  expect(starts).toHaveLength(1)
})

test('ST19 a child that works during leave goes on where it was, in the next process', async () => {
  const store = createMemoryStore()
  const model = silent()
  const tools = { spawn: createSpawnTool() }
  const agent = await firstProcess(store, tools, [call('1', 'spawn', { task: 'help' })], model.step)
  await leaveAfter(model.asked, agent)
  const child = await store.read('s/1')
  expect(child.at(-1)).toMatchObject({ type: 'run_ended', status: 'left' })
  const next = await nextProcess(store, tools, 'From the child.', 'Done.')
  await next.agent.run()
  expect(texts(next.agent.turns).slice(2)).toEqual(['user: ←From the child.', 'assistant: Done.'])
})

test('ST19 a child goes on where it was after two processes have left it', async () => {
  const store = createMemoryStore()
  const { tools: ownTools, begun, starts } = endless('keyed', 2)
  const tools = { spawn: createSpawnTool(), ...ownTools }
  const first = await firstProcess(store, tools, [call('1', 'spawn', { task: 'help' })], [call('c', 'work')])
  const firstRun = first.run({ prompt: 'go' })
  await vi.waitFor(() => expect(starts).toHaveLength(1))
  await first.leave()
  await firstRun
  const second = await nextProcess(store, tools)
  const secondRun = second.agent.run()
  await begun
  await second.agent.leave()
  await secondRun
  const third = await nextProcess(store, tools, 'From the child.', 'Done.')
  await third.agent.run()
  expect(texts(third.agent.turns).slice(2)).toEqual(['user: ←From the child.', 'assistant: Done.'])
  expect((await loadSession(store, 's/1')).turns.map((turn) => texts([turn])[0])).toContain('user: ←worked')
})

test('ST19 an opaque call that is left closes the calls that its child left open', async () => {
  const store = createMemoryStore()
  const child = endless('keyed')
  const spawning = tool(
    'spawning',
    async (_, { createChild }: ToolContext) => (await (await createChild()).run({ prompt: 'help' })).text,
    { replay: 'opaque' },
  )
  const tools = { spawning, ...child.tools }
  const agent = await firstProcess(store, tools, [call('1', 'spawning')], [call('c', 'work')])
  await leaveAfter(child.begun, agent)
  const next = await nextProcess(store, tools, 'Done.')
  await next.agent.run()
  expect(texts(next.agent.turns)[2]).toMatch(/←Interrupted: the process stopped/)
  const left = await store.read('s/1')
  expect(left.filter(({ type }) => type === 'call_result')).toMatchObject([{ callId: 'c', outcome: 'aborted' }])
})

test('a prompt in place of a left call says that the call had begun', async () => {
  const store = createMemoryStore()
  const { tools, begun } = endless('keyed')
  const agent = await firstProcess(store, tools, [call('1', 'work'), call('2', 'other')])
  await leaveAfter(begun, agent)
  const next = await nextProcess(store, tools, 'Done.')
  await next.agent.run({ prompt: 'Something else.' })
  expect(texts(next.agent.turns)[2]).toBe(
    'user: ←Skipped: the user sent a new message before this call ended. Its effects may or may not have happened; check before repeating it. ←Skipped: the user sent a new message',
  )
})

test('ST19 a message that was accepted before leave is delivered by the next process', async () => {
  const store = createMemoryStore()
  const model = silent()
  const agent = await firstProcess(store, {}, model.step)
  const run = agent.run({ prompt: 'go' })
  await model.asked
  await agent.followUp('and this')
  await agent.leave()
  await run
  const next = await nextProcess(store, {}, 'One.', 'Two.')
  await next.agent.run()
  expect(texts(next.agent.turns)).toEqual(['user: go', 'assistant: One.', 'user: and this', 'assistant: Two.'])
})

test('leave() without a run does nothing, and the agent can run afterwards', async () => {
  const agent = await firstProcess(createMemoryStore(), {}, 'Done.')
  await agent.leave()
  expect(await agent.run({ prompt: 'go' })).toMatchObject({ status: 'completed' })
})

test('a prompt that is sent again with its key continues the run that had logged it', async () => {
  const store = createMemoryStore()
  const model = silent()
  const agent = await firstProcess(store, {}, model.step)
  const run = agent.run({ prompt: 'go', clientKey: 'k' })
  await model.asked
  await agent.leave()
  const { runId } = await run
  const next = await nextProcess(store, {}, 'Done.')
  const continued: unknown[] = []
  const hooks = { 'session:start': ({ continues }: { continues?: unknown }) => void continued.push(continues) }
  await next.agent.run({ prompt: 'go', clientKey: 'k', hooks })
  expect(continued).toMatchObject([{ runId }])
  expect(texts(next.agent.turns)).toEqual(['user: go', 'assistant: Done.'])
})

test('a nested call that was suspended when its process left the run goes on in the next process', async () => {
  const store = createMemoryStore()
  const begun = Promise.withResolvers<void>()
  const inner = tool('inner', (_, ctx) => (ctx.answer ? 'answered' : ctx.suspend('a question')), { replay: 'opaque' })
  const outer = tool('outer', async (_, ctx) => (await ctx.call('inner', {})).output, {
    replay: 'keyed',
    isConcurrencySafe: true,
  })
  let executions = 0
  const slow = tool(
    'slow',
    () => {
      begun.resolve()
      return executions++ === 0 ? new Promise<string>(() => {}) : 'done'
    },
    { replay: 'keyed', isConcurrencySafe: true },
  )
  const tools = { inner, outer, slow }
  const agent = await firstProcess(store, tools, [call('1', 'outer'), call('2', 'slow')])
  const run = agent.run({ prompt: 'go' })
  await begun.promise
  await vi.waitFor(async () => expect((await typesIn(store)).filter((type) => type === 'call_started')).toHaveLength(3))
  await new Promise((resolve) => setTimeout(resolve, 10)) // until the nested call is suspended
  await agent.leave()
  await run
  const next = await nextProcess(store, tools, 'Done.')
  expect(await next.agent.run()).toMatchObject({ status: 'suspended', stopReason: 'a question' })
  await next.agent.session!.answer('1.1', { content: 'yes' })
  await next.agent.run()
  expect(texts(next.agent.turns)[2]).toBe('user: ←answered ←done')
})
