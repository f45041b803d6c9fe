import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, expect } from 'vitest'
import { testInTurns } from '../../../../test/soak.ts'
import { onFailpoint } from '../../../core/log.ts'
import type { SessionStore, SessionSummary } from '../../../core/store.ts'
import { fakeClock } from '../../../testing/fake-clock.ts'
import { entry, hour, item, lease, until, Watcher, write } from '../../../testing/store-contract-kit.ts'
import { createJsonlStore } from '../../jsonl-store.ts'
import { allSessions } from '../../session-query.ts'

// They make many sessions.
const test = testInTurns(3)

const root = fs.mkdtempSync(join(tmpdir(), 'libero-jsonl-index-'))
const opened: SessionStore[] = []
afterEach(async () => {
  onFailpoint(undefined)
  for (const store of opened.splice(0)) await store.close?.()
})
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))
let n = 0
const newFolder = (): string => join(root, String(++n))

function open(dir: string): SessionStore {
  opened.push(createJsonlStore({ dir, sync: false }))
  return opened.at(-1)!
}

const indexOf = (dir: string): string => join(dir, '.index')
const ids = async (store: SessionStore): Promise<string[]> => (await allSessions(store)).map(({ id }) => id).sort()

/** A store that is closed, with sessions that have children, forks, messages and details. */
async function filledStore(): Promise<{ dir: string; summaries: SessionSummary[] }> {
  const dir = newFolder()
  const store = createJsonlStore({ dir, sync: false })
  for (let i = 0; i < 20; i++) {
    const { epoch } = await lease(store, `s${i}`)
    const details = {
      type: 'details',
      title: `Title ${i}`,
      tags: ['all', `t${i % 3}`],
      tenant: `tenant ${i % 2}`,
    } as const
    await store.append(`s${i}`, [{ ...details, seq: 1, id: `d${i}`, at: i }, entry(2)], { epoch, head: 0 })
    if (i % 4 === 0) await store.append(`s${i}/c`, [entry(1)], { epoch, head: 0, holder: `s${i}`, parent: `s${i}` })
    if (i % 5 === 0) await store.send(`s${i}`, item('k', 'hello'))
    await store.lease(`s${i}`, { owner: 'ann', ttlMs: 0, epoch })
  }
  const { epoch } = await lease(store, 'fork')
  await store.append('fork', [entry(2, 'f')], { epoch, head: 1, base: 's3' })
  await store.delete('s7')
  await store.close?.()
  return { dir, summaries: await allSessions(open(dir)) }
}

/** What a store lists whose index was made anew. */
async function rebuilt(dir: string): Promise<SessionSummary[]> {
  const copy = newFolder()
  fs.cpSync(dir, copy, { recursive: true, filter: (path) => !path.includes('.index') })
  return allSessions(open(copy))
}

test('ST02 a list reads the index and opens no log', async () => {
  const { dir, summaries } = await filledStore()
  expect(summaries).toHaveLength(25)
  for (const name of fs.readdirSync(dir).filter((name) => !name.includes('.'))) {
    const path = join(dir, name, 'log.jsonl')
    fs.writeFileSync(path, 'x'.repeat(fs.statSync(path).size))
  }
  expect(await allSessions(open(dir))).toEqual(summaries)
})

test('ST01 an index that is made anew from the folders says the same', async () => {
  const { dir, summaries } = await filledStore()
  expect(await rebuilt(dir)).toEqual(summaries)
})

test('ST01 an index may be deleted at any time, also while stores use it', async () => {
  const dir = newFolder()
  const [one, two] = [open(dir), open(dir)]
  const epoch = await write(one, 's', 1)
  expect(await ids(two)).toEqual(['s'])
  fs.rmSync(indexOf(dir), { recursive: true })
  expect(await ids(two)).toEqual(['s'])
  await one.append('s', [entry(2)], { epoch, head: 1 })
  expect(await allSessions(two)).toMatchObject([{ id: 's', head: 2 }])
  await write(one, 't', 1)
  await expect.poll(() => ids(two)).toEqual(['s', 't'])
  fs.rmSync(indexOf(dir), { recursive: true })
  await one.append('s', [entry(3)], { epoch, head: 2 })
  expect(await two.find('s')).toMatchObject({ head: 3 })
  expect((await allSessions(one)).find(({ id }) => id === 's')).toMatchObject({ head: 3 })
})

const damages: Record<string, (path: string) => void> = {
  'is no database': (path) => fs.writeFileSync(path, 'x'.repeat(5000)),
  'is empty': (path) => fs.writeFileSync(path, ''),
  'has damaged pages': (path) => {
    const fd = fs.openSync(path, 'r+')
    fs.writeSync(fd, Buffer.alloc(20_000, 7), 0, 20_000, 4096)
    fs.closeSync(fd)
  },
  'has another format': (path) => change(path, 'PRAGMA user_version = 99'),
  'is that of another store': (path) => change(path, `UPDATE facts SET value = 'x' WHERE name = 'identity'`),
  'has a damaged record': (path) => change(path, `UPDATE sessions SET record = '{}' WHERE id = 's3'`),
  'has not the same tables': (path) => change(path, 'DROP TABLE tags'),
}

function change(path: string, sql: string): void {
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
}

test.each(Object.entries(damages))('ST01 an index that %s is replaced', async (_, damage) => {
  const { dir, summaries } = await filledStore()
  for (const store of opened.splice(0)) await store.close?.()
  damage(join(indexOf(dir), 'index.db'))
  const store = open(dir)
  expect(await allSessions(store)).toEqual(summaries)
  await write(store, 'new', 1)
  expect(await ids(open(dir))).toEqual([...summaries.map(({ id }) => id), 'new'].sort())
  await ids(open(dir)) // if the damage was found only now
  const database = new DatabaseSync(join(indexOf(dir), 'index.db'), { readOnly: true })
  expect(database.prepare('SELECT count(*) AS n FROM sessions').get()?.n).toBe(26)
  database.close()
})

test('ST01 a power failure that took changes of the index is noticed', async () => {
  const { dir } = await filledStore()
  for (const store of opened.splice(0)) await store.close?.()
  const path = join(indexOf(dir), 'index.db')
  change(
    path,
    `UPDATE sessions SET head = 1, size = 10, has_mail = 0, inbox = '' WHERE id = 's5'; DELETE FROM sessions WHERE id = 's6'`,
  )
  change(path, `INSERT INTO sessions (id, name, updated) VALUES ('gone', 'gone', 1)`)
  change(path, `UPDATE facts SET value = 'before' WHERE name = 'boot'`)
  expect(await allSessions(open(dir))).toEqual(await rebuilt(dir))
})

test('ST13 a process that keeps the index locked blocks neither appends nor lists', async () => {
  const dir = newFolder()
  const [one, two] = [open(dir), open(dir)]
  const epoch = await write(one, 's', 1)
  expect(await ids(two)).toEqual(['s'])
  const rival = new DatabaseSync(join(indexOf(dir), 'index.db'))
  rival.exec('BEGIN IMMEDIATE')
  await one.append('s', [entry(2)], { epoch, head: 1 })
  await write(one, 't', 1)
  expect((await allSessions(two)).map(({ id, head }) => [id, head]).sort()).toEqual([
    ['s', 2],
    ['t', 1],
  ])
  rival.exec('ROLLBACK')
  rival.close()
  expect(await ids(one)).toEqual(['s', 't'])
})

test('ST01 a session that was deleted, copied or restored by hand is listed as it is found', async () => {
  const { dir, summaries } = await filledStore()
  fs.rmSync(join(dir, 's1'), { recursive: true })
  fs.cpSync(join(dir, 's2'), join(dir, 'copy'), { recursive: true })
  const path = join(dir, 's3/log.jsonl')
  fs.writeFileSync(path, fs.readFileSync(path, 'utf8').split('\n').slice(1).join('\n').replace('"seq":2', '"seq":1'))
  const store = open(dir)
  const listed = await allSessions(store)
  expect(listed.map(({ id }) => id).sort()).toEqual(
    summaries
      .map(({ id }) => id)
      .filter((id) => id !== 's1')
      .sort(),
  )
  expect(listed.find(({ id }) => id === 's3')).toMatchObject({ head: 1, tags: [] })
  expect(await store.find('copy')).toMatchObject({ title: 'Title 2' })
})

test('ST01 a session that was deleted and made anew with a log of the same size is listed as it is', async () => {
  const dir = newFolder()
  const [one, two] = [open(dir), open(dir)]
  const make = async (store: SessionStore, title: string): Promise<void> => {
    const { epoch } = await lease(store)
    await store.append('s', [{ type: 'details', title, seq: 1, id: 'd', at: 1 }], { epoch, head: 0 })
    await store.lease('s', { owner: 'ann', ttlMs: 0, epoch })
  }
  const titles = async (store: SessionStore) => (await allSessions(store)).map(({ title }) => title)
  await make(one, 'first')
  expect(await titles(one)).toEqual(['first'])
  await one.delete('s')
  await make(one, 'other')
  expect(await titles(one)).toEqual(['other'])
  await two.delete('s')
  await make(two, 'third')
  expect(await titles(two)).toEqual(['third'])
  const { epoch, head } = await lease(one)
  await one.append('s', [entry(2)], { epoch, head })
  expect(await titles(one)).toEqual(['third'])
})

test('ST18 the leases of a dead process are counted once', async () => {
  const dir = newFolder()
  const store = open(dir)
  for (const id of ['a', 'b', 'c', 'd']) await write(store, id, 1)
  expect(await ids(open(dir))).toEqual(['a', 'b', 'c', 'd'])
  await store.lease('d', { owner: 'ann', ttlMs: 0, epoch: 4 })
  await store.close?.()
  // As if the process had died with three of them.
  for (const id of ['a', 'b', 'c']) {
    const path = join(dir, id, 'lease.json')
    const given = JSON.parse(fs.readFileSync(path, 'utf8')) as { process: object }
    const dead = { ...given, expires: Date.now() + hour, opener: 'x', process: { ...given.process, started: '1' } }
    fs.writeFileSync(path, JSON.stringify(dead))
  }
  fs.rmSync(indexOf(dir), { recursive: true })
  const [one, two] = [open(dir), open(dir)]
  const first = await lease(one, 'a', 'bob')
  const second = await lease(two, 'b', 'eve')
  expect([first.died?.sessions, second.died?.sessions]).toEqual([3, 3])
  expect(first.died?.processId).toBe(second.died?.processId)
  await one.lease('a', { owner: 'bob', ttlMs: 0, epoch: first.epoch })
  expect((await lease(two, 'c', 'eve')).died).toMatchObject({ sessions: 3 })
  expect((await lease(two, 'a', 'eve')).died).toBeUndefined()
  expect((await lease(two, 'd', 'eve')).died).toBeUndefined()
})

test('ST15 of many watched sessions the one that another process changes is read at once', async () => {
  const dir = newFolder()
  const clock = fakeClock(1_700_000_000_000)
  const store = createJsonlStore({ dir, clock, sync: false })
  opened.push(store)
  const other = createJsonlStore({ dir, clock, sync: false })
  opened.push(other)
  const names = Array.from({ length: 300 }, (_, i) => `s${i}`)
  for (const name of names) await lease(store, name)
  const watchers = names.map((name) => new Watcher(store, name, 0, undefined, true))
  for (let i = 0; i < 10; i++) await clock.advance(100) // each was looked at
  await other.send('s299', item('k', 'hello'))
  await clock.advance(100)
  expect(watchers.flatMap(({ inbox }) => inbox)).toEqual([item('k', 'hello')])
  fs.rmSync(indexOf(dir), { recursive: true })
  fs.appendFileSync(join(dir, 's298/inbox.jsonl'), `${JSON.stringify(item('k2', 'by hand'))}\n`)
  await until(clock.advance, () => watchers[298]!.inbox.length > 0, 'a message of which no change file tells')
  await Promise.all(watchers.map((watcher) => watcher.stop()))
})
