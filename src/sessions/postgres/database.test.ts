import { expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { createPostgresStore } from '../postgres-store.ts'
import { createDatabase, type DatabaseOptions } from './database.ts'
import type { PostgresSql } from './driver.ts'

const lost = (): Error => Object.assign(new Error('the line is dead'), { code: 'ECONNRESET' })

function clientOf(answer: () => Promise<Record<string, unknown>[]>): PostgresSql & { asked: number } {
  const client: PostgresSql & { asked: number } = {
    asked: 0,
    unsafe() {
      client.asked++
      return answer()
    },
    begin: (work) => work(client),
    listen: async () => ({ unlisten: async () => {} }),
  }
  return client
}

const databaseOf = (sql: PostgresSql, options: Partial<DatabaseOptions> = {}) =>
  createDatabase({ sql, max: 1, clock: fakeClock(), retryMs: 1000, ...options })

test('a lost connection is tried again after 50, 100, 200 and 400 ms, and then no more within a second', async () => {
  const clock = fakeClock()
  const client = clientOf(() => Promise.reject(lost()))
  const failed = databaseOf(client, { clock })
    .query('select 1')
    .catch((error) => error)
  const counts: number[] = []
  for (const ms of [49, 1, 100, 200, 399, 1, 10_000]) {
    await clock.advance(ms)
    counts.push(client.asked)
  }
  expect(counts).toEqual([1, 2, 3, 4, 4, 5, 5])
  expect(await failed).toMatchObject({ name: 'StoreError', code: 'unavailable' })
  expect(clock.pending).toBe(0)
})

test('tries that take long themselves count, but there is a second one', async () => {
  const clock = fakeClock()
  const slow = clientOf(async () => {
    await new Promise<void>((resolve) => clock.timer(5000, resolve))
    throw lost()
  })
  const failed = databaseOf(slow, { clock })
    .query('select 1')
    .catch((error) => error)
  await clock.advance(60_000)
  expect(slow.asked).toBe(2)
  expect(await failed).toMatchObject({ name: 'StoreError', code: 'unavailable' })
})

test('places that the driver leaves empty after an error in the middle of an answer are no rows', async () => {
  const rows: Record<string, unknown>[] = []
  rows[2] = { one: 1 }
  rows[3] = { one: 2 }
  expect(await databaseOf(clientOf(async () => rows)).query('select 1')).toEqual([{ one: 1 }, { one: 2 }])
})

test('what comes back in time is the answer', async () => {
  const clock = fakeClock()
  const answers = [() => Promise.reject(lost()), async () => [{ one: 1 }]]
  const answer = databaseOf(
    clientOf(() => answers.shift()!()),
    { clock },
  ).query('select 1')
  await clock.advance(50)
  expect(await answer).toEqual([{ one: 1 }])
})

test('who does not answer at all is not asked again', async () => {
  const client = clientOf(() => new Promise(() => {}))
  const asked = databaseOf(client, { answerTimeoutMs: 5 }).query('select 1')
  await expect(asked).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('no answer') })
  expect(client.asked).toBe(1)
})

test('closing ends the waiting for a second try, and leaves no timer', async () => {
  const clock = fakeClock()
  const database = databaseOf(
    clientOf(() => Promise.reject(lost())),
    { clock },
  )
  const failed = database.query('select 1').catch((error) => error)
  await clock.advance(0)
  expect(clock.pending).toBe(1)
  await database.close()
  expect(await failed).toMatchObject({ code: 'unavailable', message: expect.stringContaining('was closed') })
  expect(clock.pending).toBe(0)
})

test('a full disk is said to be one', async () => {
  const full = Object.assign(new Error('could not extend file'), { code: '53100' })
  const sql = clientOf(() => Promise.reject(full))
  const written = createPostgresStore({ sql }).lease('s', { owner: 'ann', ttlMs: 1, create: true })
  await expect(written).rejects.toMatchObject({ name: 'StoreError', code: 'full' })
  expect(sql.asked).toBe(1)
})

test('options that cannot be meant are refused, without naming the password', () => {
  expect(() => createPostgresStore({})).toThrow('either a url or an sql client')
  expect(() => createPostgresStore({ url: 'postgres://x/y', sql: clientOf(async () => []) })).toThrow(TypeError)
  expect(() => createPostgresStore({ url: 'mysql://me:secret@x/y' })).toThrow(/^(?!.*secret).*postgres:\/\//)
  for (const schema of ['', 'pg_x', 'a"b', "a'b", '1a', 'ä', 'x'.repeat(64), 'a b', 'a;b', 'a\0b', 'a$setup$b'])
    expect(() => createPostgresStore({ url: 'postgres://x/y', schema })).toThrow('cannot be the schema')
  for (const schema of ['libero', 'My-Schema_2', '_', 'x'.repeat(63)])
    createPostgresStore({ url: 'postgres://x/y', schema })
})

test('after its connection was lost, the driver never learns how the work of a transaction ended: it would write to that connection', async () => {
  const answers = [() => Promise.reject(lost()), async () => [{ one: 1 }]]
  const client = clientOf(() => answers.shift()!())
  const ends: string[] = []
  client.begin = (work) => {
    const working = work(client)
    working.then(
      () => ends.push('commit'),
      () => ends.push('rollback'),
    )
    return working
  }
  const database = databaseOf(client, { clock: systemClock, answerTimeoutMs: 100 })
  // The statement of the first attempt gets no answer, so `queryIn` gives up after 100 ms, when the second one is over.
  const row = await database.transaction(async (sql) => (await database.queryIn(sql, 'select 1', []))[0])
  expect(row).toEqual({ one: 1 })
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(ends).toEqual(['commit'])
})

test.for(['begin', 'commit'] as const)(
  'a server that does not answer to "%s" counts as lost after the time of a statement',
  async (silent) => {
    const client = clientOf(async () => [])
    client.begin = (work) =>
      silent === 'begin' ? new Promise(() => {}) : work(client).then(() => new Promise(() => {}))
    const failed = databaseOf(client, { answerTimeoutMs: 50 }).transaction(async (sql) => sql.unsafe('select 1'))
    await expect(failed).rejects.toMatchObject({ name: 'StoreError', code: 'unavailable' })
  },
)
