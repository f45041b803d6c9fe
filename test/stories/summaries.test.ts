import { describe, expect, test } from 'vitest'
import { createAgent, createMemoryStore, createSession, createSpawnTool, loadSession } from '../../src/index.ts'
import { call, fakeClock, type Step, scripted, tool } from '../../src/testing/index.ts'
import type { AgentHookMap, SessionStore, SessionSummary, ToolDef } from '../../src/types.ts'

interface World {
  readonly store: SessionStore
  readonly clock: ReturnType<typeof fakeClock>
  readonly summary: (id?: string) => Promise<SessionSummary | undefined>
}

function world(): World {
  const clock = fakeClock(Date.parse('2026-01-05T12:00:00Z'))
  const store = createMemoryStore({ clock })
  return { store, clock, summary: (id = 's') => store.find(id) }
}

async function agentIn({ store, clock }: World, tools: Record<string, ToolDef>, ...script: Step[]) {
  const session = await createSession({ store, clock, id: 's' })
  return createAgent({ provider: scripted(...script), session, tools, clock })
}

/** A tool during which a test looks at the session. */
function pausing() {
  const reached = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<string>()
  const pause = tool('pause', () => {
    reached.resolve()
    return goOn.promise
  })
  return { pause, reached: reached.promise, goOn: () => goOn.resolve('paused') }
}

const asking: AgentHookMap = {
  'tool:gate': (ctx) => {
    if (ctx.approval?.decision !== 'allow') ctx.halt = { reason: 'may I?' }
  },
}

describe('the status of a session', () => {
  test('E08 ST01 is working during a run, and idle after it', async () => {
    const here = world()
    const { pause, reached, goOn } = pausing()
    const agent = await agentIn(here, { pause }, [call('1', 'pause')], 'fin')
    const run = agent.run({ prompt: 'go' })
    await reached
    expect(await here.summary()).toMatchObject({ status: 'working' })
    expect(await here.summary()).not.toHaveProperty('attention')
    goOn()
    await run
    expect(await here.summary()).toMatchObject({ status: 'idle' })
    expect(await here.summary()).not.toHaveProperty('attention')
  })

  test('E08 ST01 is waiting after a suspension, and needs attention once it is answered', async () => {
    const here = world()
    const session = await createSession({ store: here.store, clock: here.clock, id: 's' })
    const tools = { deploy: tool('deploy', () => 'deployed') }
    const provider = scripted([call('1', 'deploy')], 'fin')
    const agent = createAgent({ provider, session, tools, hooks: asking, clock: here.clock })
    await agent.run({ prompt: 'go' })
    expect(await here.summary()).toMatchObject({ status: 'waiting' })
    expect(await here.summary()).not.toHaveProperty('attention')
    await session.answer('1', { decision: 'allow' })
    expect(await here.summary()).toMatchObject({ status: 'waiting', attention: 'answered' })
    await agent.run()
    expect(await here.summary()).toMatchObject({ status: 'idle' })
    expect(await here.summary()).not.toHaveProperty('attention')
  })

  test('E08 ST01 is waiting after the question of a tool, until its answer', async () => {
    const here = world()
    const ask = tool('ask', (_, ctx) => (ctx.answer ? 'blue' : ctx.suspend('Which colour?')))
    const agent = await agentIn(here, { ask }, [call('1', 'ask')], 'fin')
    await agent.run({ prompt: 'go' })
    expect(await here.summary()).toMatchObject({ status: 'waiting' })
    await agent.session!.answer('1', { content: 'blue' })
    expect(await here.summary()).toMatchObject({ status: 'waiting', attention: 'answered' })
    await agent.run()
    expect(await here.summary()).toMatchObject({ status: 'idle' })
  })

  test('E08 ST01 is idle again when a new message was sent instead of the answer, for the child as well', async () => {
    const here = world()
    const provider = scripted([call('1', 'spawn', { task: 'look' })], [call('2', 'deploy')], 'fin')
    const session = await createSession({ store: here.store, clock: here.clock, id: 's' })
    const tools = { deploy: tool('deploy', () => 'deployed'), spawn: createSpawnTool() }
    const agent = createAgent({ provider, session, tools, clock: here.clock })
    agent.hooks.hook('child:tool:gate', (gate) => {
      gate.halt = { reason: 'permission' }
    })
    await agent.run({ prompt: 'go' })
    expect([await here.summary(), await here.summary('s/1')]).toMatchObject([
      { status: 'waiting' },
      { status: 'waiting', parent: 's' },
    ])
    await agent.run({ prompt: 'never mind' })
    expect([await here.summary(), await here.summary('s/1')]).toMatchObject([{ status: 'idle' }, { status: 'idle' }])
  })

  test('E08 ST01 is failed after an error of the model, and idle after an abort', async () => {
    const here = world()
    const refuse = { classifyError: () => ({ kind: 'auth_failed', message: 'no key', retryable: false }) as const }
    const session = await createSession({ store: here.store, clock: here.clock, id: 's' })
    const provider = scripted(new Error('no key'), 'fin', { options: refuse })
    const agent = createAgent({ provider, session, clock: here.clock })
    await expect(agent.run({ prompt: 'go' })).rejects.toThrow('no key')
    expect(await here.summary()).toMatchObject({ status: 'failed' })
    await expect(agent.run({ prompt: 'again', signal: AbortSignal.abort() })).rejects.toThrow('aborted')
    expect(await here.summary()).toMatchObject({ status: 'idle' })
  })

  test('E08 ST01 is interrupted once the lease of a dead process has run out, and until a run continues it', async () => {
    const here = world()
    const agent = await agentIn(here, { hang: tool('hang', () => new Promise<string>(() => {})) }, [call('1', 'hang')])
    const dying = await createSession({ store: here.store, clock: here.clock, id: 'dead' })
    await dying.startRun({ runId: 'r', model: 'm' }) // gives its lease back, as a process that dies does after a while
    expect(await here.summary('dead')).toMatchObject({ status: 'interrupted', attention: 'owner_died' })

    void agent.run({ prompt: 'go' })
    while ((await here.summary())?.calls !== 1) await here.clock.advance(0)
    expect(await here.summary()).toMatchObject({ status: 'working' })
    const { epoch } = await here.store.lease('s', { owner: 'rival', ttlMs: 1000, takeOver: true })
    expect(await here.summary()).toMatchObject({ status: 'working' }) // held, if by another
    await here.store.lease('s', { owner: 'rival', ttlMs: 0, epoch })
    expect(await here.summary()).toMatchObject({ status: 'interrupted', attention: 'owner_died' })

    const next = await loadSession(here.store, 'dead', { clock: here.clock })
    await next.open()
    await next.release()
    expect(await here.summary('dead')).toMatchObject({ status: 'interrupted', attention: 'interrupted' })
    await createAgent({ provider: scripted('fin'), session: next, clock: here.clock }).run({ prompt: 'go on' })
    expect(await here.summary('dead')).toMatchObject({ status: 'idle' })
  })

  test('E08 ST01 is parked after three crashes without progress, and needs attention once it is unparked', async () => {
    const here = world()
    await (await createSession({ store: here.store, clock: here.clock, id: 's' })).save()
    for (const runId of ['1', '2', '3'])
      await (await loadSession(here.store, 's', { clock: here.clock })).startRun({ runId, model: 'm' })
    const session = await loadSession(here.store, 's', { clock: here.clock })
    await expect(session.open()).rejects.toThrow('parked')
    expect(await here.summary()).toMatchObject({ status: 'parked' })
    expect(await here.summary()).not.toHaveProperty('attention')
    await session.unpark()
    expect(await here.summary()).toMatchObject({ status: 'interrupted', attention: 'interrupted' })
  })

  test('E08 ST03 an idle session with a message needs attention, before and after the message is in its log', async () => {
    const here = world()
    const agent = await agentIn(here, {}, 'one', 'two')
    await agent.run({ prompt: 'go' })
    const content = [{ type: 'text' as const, text: 'Are you there?' }]
    await here.store.send('s', { clientKey: 'k', mode: 'prompt', content })
    expect(await here.summary()).toMatchObject({ status: 'idle', attention: 'mail' })
    await agent.session!.open()
    await agent.session!.release()
    expect(await here.summary()).toMatchObject({ status: 'idle', attention: 'mail' })
    await agent.run()
    expect(await here.summary()).not.toHaveProperty('attention')
  })
})

describe('the summary of a session', () => {
  test('ST01 has its title from the first prompt, until another one is set', async () => {
    const here = world()
    const agent = await agentIn(here, {}, 'one', 'two')
    await agent.run({ prompt: 'Look at\nthe sky' })
    expect(await here.summary()).toMatchObject({ title: 'Look at the sky', tags: [] })
    await agent.session!.setDetails({ title: 'Sky', tags: ['blue'], tenant: 'acme', kind: 'chat', folder: '/f' })
    await agent.run({ prompt: 'Again' })
    const details = { title: 'Sky', tags: ['blue'], tenant: 'acme', kind: 'chat', folder: '/f' }
    expect(await here.summary()).toMatchObject(details)
  })

  test('ST01 adds up turns, calls, tokens and cost, those of broken-off replies included', async () => {
    const here = world()
    const session = await createSession({ store: here.store, clock: here.clock, id: 's' })
    const used = { usage: { input: 100, output: 10, cost: 110 } }
    const options = { costOf: (_: string, { input, output }: { input: number; output: number }) => input + output }
    const provider = scripted(
      { ...used, calls: [call('1', 'look'), call('2', 'look')] },
      { ...used, text: 'done' },
      [{ type: 'text', delta: 'broken off' }],
      { options },
    )
    const agent = createAgent({ provider, session, tools: { look: tool('look', () => 'seen') }, clock: here.clock })
    const began = here.clock.now()
    await agent.run({ prompt: 'go' })
    expect(await here.summary()).toMatchObject({ turns: 3, calls: 2, tokens: 220, cost: 220, createdAt: began })
    await here.clock.advance(5000)
    agent.hooks.hook('stream:text', () => agent.abort())
    await expect(agent.run({ prompt: 'more' })).rejects.toThrow('aborted')
    const { tokens, cost, turns, updatedAt, createdAt } = (await here.summary())!
    const entries = await here.store.read('s')
    const counted = entries.flatMap((entry) => {
      if (entry.type === 'usage') return [entry.usage]
      return entry.type === 'turn' && entry.turn.usage ? [entry.turn.usage] : []
    })
    expect(counted.length).toBe(3)
    expect(tokens).toBe(counted.reduce((sum, { input, output }) => sum + input + output, 0))
    expect(cost).toBe(tokens)
    expect(turns).toBe(entries.filter(({ type }) => type === 'turn').length)
    expect([createdAt, updatedAt]).toEqual([began, began + 5000])
  })
})
