import { LeaseLostError } from '../core/errors.ts'
import type { EntryBody, InboxItem, LogEntry } from '../core/log.ts'
import type { SessionStore, SessionSummary } from '../core/store.ts'
import type { SessionTurn, TurnUsage } from '../core/turn.ts'
import { check, checkEqual, checkRejects } from './contract.ts'
import { entry, hour, input, item, lease, type StoreCase, write } from './store-contract-kit.ts'

/** A summary is changed with each append, and tells who holds the session and what waits for it. */
export const summaryCases: Record<string, StoreCase> = {
  async 'ST01 a summary tells what the entries of its session say'(store) {
    const { epoch } = await lease(store)
    await store.append('s', story, { epoch, head: 0 })
    checkEqual(await factsOf(store, 's'), storyFacts, 'the summary')
    checkEqual((await store.list()).sessions, [await store.find('s')], 'the list')
  },

  async 'ST01 a summary is the same however its entries were divided'(store) {
    const { epoch } = await lease(store)
    for (const [head, one] of story.entries()) {
      await store.append('s', [one], { epoch, head })
      checkEqual((await store.find('s'))?.head, head + 1, 'the head after an append')
      checkEqual((await store.find('s'))?.updatedAt, one.at, 'the time after an append')
    }
    checkEqual(await factsOf(store, 's'), storyFacts, 'the summary')
  },

  async 'ST01 an append that is refused or repeated leaves the summary as it was'(store) {
    const { epoch } = await lease(store)
    await store.append('s', story, { epoch, head: 0 })
    const before = await store.find('s')
    await checkRejects(store.append('s', [entry(9)], { epoch, head: 8 }), LeaseLostError, 'a gap')
    await checkRejects(store.append('s', [entry(7)], { epoch: epoch + 1, head: 6 }), LeaseLostError, 'no lease')
    await store.append('s', story.slice(-2), { epoch, head: story.length - 2 })
    checkEqual(await store.find('s'), before, 'the summary')
  },

  async 'ST01 a writer that goes on after another one adds to its summary'(store) {
    const first = await lease(store, 's', 'ann')
    await store.append('s', story.slice(0, 3), { epoch: first.epoch, head: 0 })
    const { epoch } = await store.lease('s', { owner: 'bob', ttlMs: hour, takeOver: true })
    await store.append('s', story.slice(3), { epoch, head: 3 })
    checkEqual(await factsOf(store, 's'), storyFacts, 'the summary')
  },

  async 'ST01 entries of more than 256 KiB count like others'(store) {
    const { epoch } = await lease(store)
    const prompt = `Read this:\n${'x'.repeat(300_000)}`
    const call = { type: 'tool_call', id: 'c', name: 'f', input: { text: 'y'.repeat(300_000) } } as const
    await store.append('s', [turn(1, 'user', [text(prompt)]), turn(2, 'assistant', [call])], { epoch, head: 0 })
    const { title, turns, calls } = (await store.find('s')) ?? {}
    checkEqual([title?.slice(0, 12), turns, calls], ['Read this: x', 2, 1], 'the title, the turns and the calls')
  },

  async 'ST01 a run is working while a process holds the lease, and interrupted when none does'(store, advance) {
    const { epoch } = await store.lease('s', { owner: 'ann', ttlMs: 1000, create: true })
    await store.append('s', [entryOf(1, started)], { epoch, head: 0 })
    checkEqual(await stateOf(store, 's'), ['working'], 'while it is held')
    await advance(1100)
    checkEqual(await stateOf(store, 's'), ['interrupted', 'owner_died'], 'after the lease has run out')
    const taken = await lease(store, 's', 'bob')
    checkEqual(await stateOf(store, 's'), ['working'], 'when it is held again')
    await store.lease('s', { owner: 'bob', ttlMs: 0, epoch: taken.epoch })
    checkEqual(await stateOf(store, 's'), ['interrupted', 'owner_died'], 'after the lease was given back')
  },

  async 'ST01 a child is held by the lease at the top'(store) {
    const epoch = await write(store, 'p', 1)
    const fence = { epoch, head: 0, holder: 'p' }
    await store.append('p/c', [entryOf(1, started)], { ...fence, parent: 'p' })
    await store.append('p/c/g', [entryOf(1, started)], { ...fence, parent: 'p/c' })
    checkEqual([await stateOf(store, 'p/c'), await stateOf(store, 'p/c/g')], [['working'], ['working']], 'while held')
    await store.lease('p', { owner: 'ann', ttlMs: 0, epoch })
    const dead = ['interrupted', 'owner_died']
    checkEqual([await stateOf(store, 'p/c'), await stateOf(store, 'p/c/g')], [dead, dead], 'afterwards')
  },

  async 'ST01 a run that ended tells how'(store) {
    const ends: Record<string, [object, ...string[]]> = {
      idle: [{ status: 'completed' }, 'idle'],
      aborted: [{ status: 'aborted' }, 'idle'],
      waiting: [{ status: 'suspended' }, 'waiting'],
      left: [{ status: 'left' }, 'interrupted', 'interrupted'],
      crashed: [{ status: 'error', stop: 'crashed' }, 'interrupted', 'interrupted'],
      failed: [{ status: 'error', error: { name: 'Error', message: '' } }, 'failed'],
    }
    for (const [id, [end, ...state]] of Object.entries(ends)) {
      const { epoch } = await lease(store, id)
      const ended = { type: 'run_ended', runId: 'r', stop: '', ...end } as EntryBody
      await store.append(id, [entryOf(1, started), entryOf(2, ended)], { epoch, head: 0 })
      await store.lease(id, { owner: 'ann', ttlMs: 0, epoch })
      checkEqual(await stateOf(store, id), state, id)
    }
  },

  async 'ST03 a message that waits needs attention, unless a process holds the session'(store) {
    const epoch = await write(store, 's', 1)
    await store.send('s', item('k1', 'hello'))
    checkEqual(await stateOf(store, 's'), ['idle'], 'while it is held')
    await store.lease('s', { owner: 'ann', ttlMs: 0, epoch })
    checkEqual(await stateOf(store, 's'), ['idle', 'mail'], 'while none holds it')
    const next = await lease(store, 's', 'bob')
    await store.append('s', [input(2, 'k1', 'hello')], { epoch: next.epoch, head: 1 })
    await store.lease('s', { owner: 'bob', ttlMs: 0, epoch: next.epoch })
    checkEqual(await stateOf(store, 's'), ['idle', 'mail'], 'in the log, and not delivered yet')
    const last = await lease(store, 's', 'eve')
    const delivered = { ...turn(3, 'user', [text('hello')]), consumed: ['input-2'] } as LogEntry
    await store.append('s', [delivered], { epoch: last.epoch, head: 2 })
    await store.lease('s', { owner: 'eve', ttlMs: 0, epoch: last.epoch })
    checkEqual(await stateOf(store, 's'), ['idle'], 'after its delivery')
  },

  async 'ST03 a message that its sender took back needs no attention'(store) {
    const { epoch } = await lease(store)
    const taken = entryOf(3, { type: 'withdrawn', input: 'input-1' })
    await store.append('s', [input(1, 'k1', 'hello'), input(2, 'k2', 'stays'), taken], { epoch, head: 0 })
    const gone = entryOf(4, { type: 'withdrawn', input: 'input-2' })
    await store.lease('s', { owner: 'ann', ttlMs: 0, epoch })
    checkEqual(await stateOf(store, 's'), ['idle', 'mail'], 'while another one waits')
    const next = await lease(store)
    await store.append('s', [gone], { epoch: next.epoch, head: 3 })
    await store.lease('s', { owner: 'ann', ttlMs: 0, epoch: next.epoch })
    checkEqual(await stateOf(store, 's'), ['idle'], 'when none is left')
  },

  async 'ST03 the answer to a call that waits needs attention, in the inbox and in the log'(store) {
    const { epoch } = await lease(store)
    const asked = { type: 'approval_requested', callId: 'c', digest: 'd' } as const
    const suspended = { type: 'run_ended', runId: 'r', status: 'suspended', stop: '' } as const
    const call = { type: 'tool_call', id: 'c', name: 'f', input: {} } as const
    const waiting = [entryOf(1, started), turn(2, 'assistant', [call]), entryOf(3, asked), entryOf(4, suspended)]
    await store.append('s', waiting, { epoch, head: 0 })
    const answer: InboxItem = {
      clientKey: 'a',
      mode: 'answer',
      content: [],
      answer: { callId: 'c', decision: 'allow' },
    }
    await store.lease('s', { owner: 'ann', ttlMs: 0, epoch })
    checkEqual(await stateOf(store, 's'), ['waiting'], 'before the answer')
    await store.send('s', item('k', 'not an answer'))
    checkEqual(await stateOf(store, 's'), ['waiting', 'mail'], 'with another message')
    await store.send('s', answer)
    checkEqual(await stateOf(store, 's'), ['waiting', 'answered'], 'with the answer')
    const next = await lease(store)
    const logged = { type: 'approval_answered', callId: 'c', digest: 'd', decision: 'allow', by: 'ann' } as const
    const answered: LogEntry = { ...entryOf(5, logged), clientKey: 'a' } as LogEntry
    await store.append('s', [answered], { epoch: next.epoch, head: 4 })
    await store.lease('s', { owner: 'ann', ttlMs: 0, epoch: next.epoch })
    checkEqual(await stateOf(store, 's'), ['waiting', 'answered'], 'with the answer in the log')
  },

  async 'ST01 a session without entries has no summary'(store) {
    checkEqual(await store.find('s'), undefined, 'a session that is not there')
    await lease(store)
    await store.send('s', item('k1', 'hello'))
    checkEqual(await store.find('s'), undefined, 'a session that was only leased')
    checkEqual((await store.list()).sessions, [], 'the list')
    checkEqual((await store.list({ attention: true })).sessions, [], 'the list of those that need attention')
    await write(store, 'session', 1)
    checkEqual(await store.find('sess'), undefined, 'the beginning of an id')
  },
}

const started: EntryBody = { type: 'run_started', runId: 'r', model: 'm' }

export function entryOf(seq: number, body: EntryBody, at = 1000 + seq): LogEntry {
  return { ...body, seq, id: `entry-${seq}`, at } as LogEntry
}

const text = (words: string) => ({ type: 'text', text: words }) as const

function turn(seq: number, role: 'user' | 'assistant', content: SessionTurn['content'], usage?: TurnUsage): LogEntry {
  const said = { id: `t${seq}`, runId: 'r', role, content, createdAt: seq, ...(usage && { usage }) }
  return entryOf(seq, { type: 'turn', turn: said })
}

const details: EntryBody = { type: 'details', tags: ['a', 'b'], tenant: 'acme', kind: 'chat', folder: '/work' }

/** A run of every part that a summary counts. */
const story: readonly LogEntry[] = [
  entryOf(1, details),
  entryOf(2, started),
  turn(3, 'user', [text('  What is\nnew?  ')]),
  turn(4, 'assistant', [{ type: 'tool_call', id: 'c', name: 'f', input: {} }], { input: 10, output: 5, cost: 0.25 }),
  entryOf(5, { type: 'usage', runId: 'r', cause: 'summary', usage: { input: 100, output: 50, cost: 0.5 } }),
  entryOf(6, { type: 'run_ended', runId: 'r', status: 'completed', stop: 'end' }),
]

const storyFacts = {
  ...{ id: 's', head: 6, title: 'What is new?', tags: ['a', 'b'], tenant: 'acme', kind: 'chat', folder: '/work' },
  ...{ status: 'idle', isHeld: true, createdAt: 1001, updatedAt: 1006, turns: 2, calls: 1, tokens: 165, cost: 0.75 },
}

/** The summary without its size, which is for the store to say. */
async function factsOf(store: SessionStore, id: string): Promise<Omit<SessionSummary, 'bytes'> | undefined> {
  const summary = await store.find(id)
  if (!summary) return undefined
  const { bytes, ...facts } = summary
  check(Number.isFinite(bytes) && bytes > 0, `the size of ${id} is ${bytes}`)
  return facts
}

/** The status, and the reason for attention if there is one. */
async function stateOf(store: SessionStore, id: string): Promise<string[]> {
  const { status, attention } = (await store.find(id)) ?? {}
  return [status ?? 'none', ...(attention ? [attention] : [])]
}
