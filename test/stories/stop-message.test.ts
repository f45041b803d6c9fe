import { describe, expect, test } from 'vitest'
import { AgentAbortedError } from '../../src/core/errors.ts'
import type { InboxItem } from '../../src/core/log.ts'
import { createAgent, createMemoryStore, createSession, loadSession } from '../../src/index.ts'
import { exportSession, importSession } from '../../src/sessions/index.ts'
import { call, fakeClock, type Step, scripted, texts, tool } from '../../src/testing/index.ts'
import type { LogEntry, SessionStore } from '../../src/types.ts'

const stop = (clientKey = 'stop'): InboxItem => ({ clientKey, mode: 'stop', content: [] })
const steer = (text: string): InboxItem => ({ clientKey: text, mode: 'steer', content: [{ type: 'text', text }] })
const tick = () => new Promise<void>((resolve) => setTimeout(resolve))

async function setUp(...script: Step[]) {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const provider = scripted(...script)
  return { store, session, provider, agent: createAgent({ provider, session }) }
}

/** A model that answers only when it is told to stop. */
function endless() {
  const asked = Promise.withResolvers<void>()
  const step: Step = (_, signal) => {
    asked.resolve()
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  return { step, asked: asked.promise }
}

describe('a message that says stop', () => {
  test('that another process sends aborts the run, and is not shown', async () => {
    const { step, asked } = endless()
    const { agent, store, session, provider } = await setUp(step, 'Again.')
    const run = agent.run({ prompt: 'go' })
    await asked
    await store.send('s', stop())
    await expect(run).rejects.toThrow(AgentAbortedError)
    expect(session.runs.map(({ status, stop }) => [status, stop])).toEqual([['aborted', 'aborted']])
    expect(session.log.transcript.inbox).toEqual([])
    expect((await agent.run({ prompt: 'and now?' })).text).toBe('Again.')
    expect(texts(provider.requests.at(-1)!.messages)).toEqual(['user: go', 'user: and now?'])
  })

  test('ends the calls that are under way, and keeps what was queued before it for the next run', async () => {
    const begun = Promise.withResolvers<void>()
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    const wait = tool('wait', (_, { signal }) => {
      begun.resolve()
      return new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    })
    const agent = createAgent({ provider: scripted([call('1', 'wait')], 'next'), session, tools: { wait } })
    const run = agent.run({ prompt: 'go' })
    await begun.promise
    await store.send('s', { ...steer('queued'), mode: 'followUp' })
    await store.send('s', stop())
    await expect(run).rejects.toThrow(AgentAbortedError)
    expect(texts(session.turns).at(-1)).toMatch(/^user: ←Aborted: the run was stopped while this call ran/)
    expect(session.log.transcript.inbox.map(({ clientKey }) => clientKey)).toEqual(['queued'])
  })

  test('that comes while nothing runs is void, and so is the same one again', async () => {
    const { agent, store, session } = await setUp('one', 'two', 'three')
    await agent.run({ prompt: 'go' })
    await store.send('s', stop())
    expect((await agent.run({ prompt: 'on' })).text).toBe('two')
    await store.send('s', stop())
    expect((await agent.run({ prompt: 'and on' })).text).toBe('three')
    expect(session.runs.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed'])
  })

  test('stops a run that has the session and has asked no model yet', async () => {
    const { agent, store, provider } = await setUp('never said')
    const run = agent.run({ prompt: 'go', hooks: { 'session:start': () => store.send('s', stop()).then(tick) } })
    await expect(run).rejects.toThrow(AgentAbortedError)
    expect(provider.requests).toEqual([])
  })

  test('reaches one child alone, and its parent is told', async () => {
    const { step, asked } = endless()
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    const ask = tool('ask', async (_, { createChild }) => {
      const child = await createChild()
      return child.run({ prompt: 'dig' }).then(
        ({ text }) => text,
        (error) => `it ended: ${error.name}`,
      )
    })
    const agent = createAgent({ provider: scripted([call('1', 'ask')], step, 'fin'), session, tools: { ask } })
    const run = agent.run({ prompt: 'go' })
    await asked
    await store.send('s/1', stop())
    expect((await run).text).toBe('fin')
    expect(texts(session.turns)[2]).toBe('user: ←it ended: AgentAbortedError')
  })

  test('goes with a session that is exported, and changes nothing there', async () => {
    const { step, asked } = endless()
    const { agent, store, session } = await setUp(step)
    const run = agent.run({ prompt: 'go' })
    await asked
    await store.send('s', stop())
    await run.catch(() => {})
    const other = createMemoryStore()
    let text = ''
    for await (const piece of exportSession(store, 's')) text += piece
    await importSession(other, text)
    const copy = await loadSession(other, 's')
    expect(copy.runs).toEqual(session.runs)
    expect((await createAgent({ provider: scripted('fin'), session: copy }).run()).text).toBe('fin')
    const forked = createAgent({ provider: scripted('fin'), session: await session.fork() })
    expect((await forked.run()).text).toBe('fin')
  })
})

describe('a process that dies between a stop and the end of its run', () => {
  const results = { pure: 'Aborted: the run was stopped', opaque: 'Interrupted: the process stopped' } as const

  test.each(['pure', 'opaque'] as const)('leaves an aborted run, and its %s call is not run again', async (replay) => {
    const { session, calls } = await leftBy({ replay, hears: true })
    expect(session.runs.map(({ status }) => status)).toEqual(['aborted'])
    expect(texts(session.turns).at(-1)).toContain(results[replay])
    expect(session.log.transcript.inbox.map(({ clientKey }) => clientKey)).toEqual(['later'])
    expect(calls).toEqual(['work'])
  })

  test('and has not received it, leaves an aborted run all the same', async () => {
    const { session, calls } = await leftBy({ replay: 'pure', hears: false })
    expect(session.runs.map(({ status }) => status)).toEqual(['aborted'])
    expect(session.log.transcript.openCalls).toEqual([])
    expect(calls).toEqual(['work'])
  })
})

/** The session of a process that died in a call: with the entry that said stop, or before it could write that. */
async function leftBy({ replay, hears }: { replay: 'pure' | 'opaque'; hears: boolean }) {
  const clock = fakeClock()
  const kept = createMemoryStore({ clock })
  const never = new Promise<never>(() => {})
  let isDead = false
  const dying: SessionStore = {
    ...kept,
    async append(id, entries, fence) {
      isDead ||= !hears && entries.some(isStop)
      if (isDead) return never
      await kept.append(id, entries, fence)
      isDead = entries.some(isStop)
    },
  }
  const calls: string[] = []
  const begun = Promise.withResolvers<void>()
  const execute = () => {
    calls.push('work')
    begun.resolve()
    return never
  }
  const work = tool('work', execute, { replay })
  const session = await createSession({ store: dying, id: 's', clock: fakeClock() }) // it renews nothing
  void createAgent({ provider: scripted([call('1', 'work')]), session, tools: { work } }).run({ prompt: 'go' })
  await begun.promise
  await kept.send('s', stop())
  await clock.advance(60_000)
  expect(isDead).toBe(true)
  await kept.send('s', steer('later'))
  const found = await loadSession(kept, 's', { clock })
  await found.open()
  await found.release()
  return { session: found, calls }
}

const isStop = (entry: LogEntry): boolean => entry.type === 'input' && entry.mode === 'stop'
