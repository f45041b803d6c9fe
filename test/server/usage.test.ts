import { expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import type { EntryBody, LogEntry } from '../../src/core/log.ts'
import { createMemoryStore, type SessionStore } from '../../src/index.ts'
import { UsageBook } from '../../src/server/usage/usage-book.ts'
import { loadSession } from '../../src/sessions/session.ts'
import { startServer } from './server-kit.ts'

const today = '2026-11-18'
const noon = Date.parse(`${today}T12:00:00Z`)
const daysAgo = (days: number): number => noon - days * 86_400_000
const dayText = (at: number): string => new Date(at).toISOString().slice(0, 10)

type At = readonly [at: number, body: EntryBody]

/** Appends entries with the times that they are given. */
async function write(store: SessionStore, id: string, entries: readonly At[], parent?: string): Promise<void> {
  const holder = parent ?? id
  const { epoch } = await store.lease(holder, { owner: 'test', ttlMs: 60_000, create: true })
  const head = (await store.find(id))?.head ?? 0
  const written = entries.map(
    ([at, body], i) => ({ seq: head + i + 1, id: `${id}-${head + i}`, at, ...body }) as LogEntry,
  )
  await store.append(id, written, { epoch, head, ...(parent !== undefined && { parent, holder }) })
  await store.lease(holder, { owner: 'test', ttlMs: 0, epoch })
}

const started = (agent?: string): EntryBody => ({
  type: 'run_started',
  runId: 'r',
  model: 'small',
  ...(agent && { agent }),
})

const reply = (model: string, input: number, calls: readonly string[] = []): EntryBody => ({
  type: 'turn',
  turn: {
    ...{ id: crypto.randomUUID(), role: 'assistant', model, usage: { input, output: 1, cacheRead: 5, cost: 0.5 } },
    content: calls.map((name, i) => ({ type: 'tool_call', id: `c${i}`, name, input: {} })),
  } as never,
})

const result = (callId: string, more: object = {}): EntryBody => ({
  ...{ type: 'call_result', callId, output: 'four', outcome: 'done' },
  ...more,
})

const clock = { ...systemClock, now: () => noon }

/** A session that worked on two days with two models, and its sub-agent. */
async function worked(): Promise<SessionStore> {
  const store = createMemoryStore()
  await write(store, 'a', [
    [daysAgo(40), { type: 'details', kind: 'chat', folder: '/work' }],
    [daysAgo(40), reply('old', 1000)],
    [daysAgo(2), started('Ann')],
    [daysAgo(2), reply('small', 10, ['read', 'shell'])],
    [daysAgo(2), { type: 'call_started', callId: 'c0', key: 'k', attempt: 1, replay: 'pure' }],
    [daysAgo(2) + 300, result('c0')],
    [daysAgo(2), result('c1', { isError: true })],
    [noon, reply('large', 100)],
    [noon, { type: 'usage', runId: 'r', cause: 'title', usage: { input: 7, output: 0, model: 'small' } }],
  ])
  await write(
    store,
    'a/sub',
    [
      [noon, started('Sub')],
      [noon, reply('small', 20)],
    ],
    'a',
  )
  return store
}

/** A store that counts what is read of it. */
function countingStore(store: SessionStore) {
  const counts = { reads: 0, entries: 0 }
  const counting: SessionStore = {
    ...store,
    async read(id, range) {
      const entries = await store.read(id, range)
      counts.reads++
      counts.entries += entries.length
      return entries
    },
  }
  return { store: counting, counts }
}

test('WB30 each entry of a log counts on its own day, by model, agent, folder and kind', async () => {
  const { send } = await startServer({ clock, store: await worked() })
  const rows = async (query: string) => (await send('GET', `/v1/usage?${query}`)).body.rows
  const { since, total } = (await send('GET', '/v1/usage')).body
  expect(since).toBe(dayText(daysAgo(29)))
  expect(total).toEqual({
    ...{ sessions: 2, turns: 3, calls: 2, input: 137, output: 3, cacheRead: 15, cacheWrite: 0, tokens: 140, cost: 1.5 },
  })
  expect(await rows('by=day')).toMatchObject([
    { day: dayText(daysAgo(2)), input: 10, sessions: 1, calls: 2 },
    { day: today, input: 127, sessions: 2 },
  ])
  expect(await rows('by=model')).toMatchObject([
    { model: 'large', input: 100, turns: 1 },
    { model: 'small', input: 37, turns: 2, sessions: 2 },
  ])
  expect(await rows('by=day&by=model')).toMatchObject([
    { day: dayText(daysAgo(2)), model: 'small', input: 10 },
    { day: today, model: 'large', input: 100 },
    { day: today, model: 'small', input: 27 },
  ])
  expect(await rows('by=agent')).toMatchObject([
    { agent: 'Ann', input: 117 },
    { agent: 'Sub', input: 20 },
  ])
  expect(await rows('by=folder')).toMatchObject([{ folder: '' }, { folder: '/work', input: 117 }])
  expect(await rows('by=kind&days=1')).toMatchObject([{ kind: '' }, { kind: 'chat', input: 107 }])
  expect(await rows('by=model&days=60')).toContainEqual(expect.objectContaining({ model: 'old', input: 1000 }))
})

test('WB30 calls of tools are counted with their errors, results and times', async () => {
  const { send } = await startServer({ clock, store: await worked() })
  expect((await send('GET', '/v1/usage?by=tool')).body.rows).toEqual([
    { tool: 'read', sessions: 1, calls: 1, errors: 0, resultTokens: 1, ms: 300 },
    { tool: 'shell', sessions: 1, calls: 1, errors: 1, resultTokens: 1, ms: 0 },
  ])
  expect((await send('GET', '/v1/usage?by=tool&by=model')).body.detail).toContain('a call of a tool has no model')
  expect((await send('GET', '/v1/usage?by=day&by=day')).status).toBe(400)
  expect((await send('GET', '/v1/usage?by=moon')).body.detail).toContain('one of day, model')
})

test('WB30 a fork does not count the entries of its original again', async () => {
  const store = await worked()
  await (await loadSession(store, 'a')).fork(undefined, { id: 'copy' })
  await write(store, 'copy', [
    [noon, started()],
    [noon, reply('large', 3)],
  ])
  const { send } = await startServer({ clock, store })
  expect((await send('GET', '/v1/usage?by=model')).body.rows).toMatchObject([
    { model: 'large', input: 103, sessions: 2 },
    { model: 'small', input: 37 },
  ])
})

test('WB30 a log is read once, and afterwards only its new entries, by two requests at once too', async () => {
  const store = await worked()
  const { store: counting, counts } = countingStore(store)
  const { send } = await startServer({ clock, store: counting })
  const input = async (): Promise<number> => (await send('GET', '/v1/usage')).body.total.input
  expect(await Promise.all([input(), input()])).toEqual([137, 137])
  expect(counts.entries).toBe(11)
  await write(store, 'a', [[noon, reply('large', 1)]])
  expect([await input(), await input(), counts.entries]).toEqual([138, 138, 12])
  await store.delete('a')
  await write(store, 'a', [[noon, reply('large', 2)]])
  expect(await input()).toBe(2)
})

test('WB30 what does not fit into memory is read again, and the sums stay right', async () => {
  const store = await worked()
  const { store: counting, counts } = countingStore(store)
  const book = new UsageBook(counting, { mostCells: 3 })
  const inputOf = async (id: string): Promise<number> => {
    const { models } = await book.of((await store.find(id))!)
    return [...models.values()].reduce((sum, { input }) => sum + input, 0)
  }
  const sums = [await inputOf('a'), await inputOf('a/sub'), await inputOf('a'), await inputOf('a/sub')]
  expect(sums).toEqual([1117, 20, 1117, 20])
  expect(counts.reads).toBe(4)
})

test('WB30 a tenant sees its own usage with that of its sub-agents', async () => {
  const store = createMemoryStore()
  for (const tenant of ['acme', 'beta']) {
    await write(store, `${tenant}.a`, [
      [noon, { type: 'details', tenant }],
      [noon, reply(tenant, 1)],
    ])
    await write(store, `${tenant}.a/sub`, [[noon, reply(tenant, 2)]], `${tenant}.a`)
  }
  await write(store, 'acme.stranger', [[noon, reply('stranger', 4)]])
  const { send } = await startServer({ clock, store, auth: { verify: () => ({ user: 'ann', tenant: 'acme' }) } })
  expect((await send('GET', '/v1/usage?by=model')).body.rows).toMatchObject([{ model: 'acme', input: 3, sessions: 2 }])
})
