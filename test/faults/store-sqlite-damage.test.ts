import { copyFileSync, existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { beforeAll, expect } from 'vitest'
import { StoreError } from '../../src/core/errors.ts'
import type { LogEntry } from '../../src/core/log.ts'
import { createSqliteStore, rescueSqlite } from '../../src/sessions/sqlite-store.ts'
import { entry, item, lease } from '../../src/testing/store-contract-kit.ts'
import { testInTurns } from '../soak.ts'
import { databaseFolder, runChild, seeded, writeMany } from './store-sqlite-kit.ts'

const test = testInTurns(2)

const at = databaseFolder()
const sessions = ['s', 't', 'quite another session']
const expected = new Map<string, readonly LogEntry[]>()
let sound: Buffer
let blob: string

beforeAll(async () => {
  const store = createSqliteStore({ path: at('sound.db'), synchronous: 'NORMAL' })
  for (const [i, id] of sessions.entries()) {
    await writeMany(store, 10 * (i + 1), 3, id)
    await store.send(id, item('k', `waits for ${id}`))
    expected.set(id, await store.read(id))
  }
  blob = await store.blobs('s').put(new Uint8Array(20_000).fill(7))
  await store.close()
  sound = readFileSync(at('sound.db'))
})

test('FD-07 of a log that was cut off anywhere, exactly the whole transactions remain', async () => {
  const path = at('torn.db')
  const store = createSqliteStore({ path })
  const ends: number[] = []
  const { epoch } = await lease(store)
  for (let i = 0; i < 6; i++) {
    const entries = [entry(2 * i + 1), entry(2 * i + 2, 'x'.repeat(3000))]
    await store.append('s', entries, { epoch, head: 2 * i })
    ends.push(statSync(`${path}-wal`).size)
  }
  const size = ends.at(-1)!
  const random = seeded(7)
  const cuts = [0, ...ends.flatMap((end) => [end - 1, end]), ...Array.from({ length: 40 }, () => random(size))]
  for (const [i, cut] of cuts.entries()) {
    const copy = at(`torn-${i}.db`)
    copyFileSync(path, copy)
    copyFileSync(`${path}-wal`, `${copy}-wal`)
    truncateSync(`${copy}-wal`, cut)
    const torn = createSqliteStore({ path: copy })
    const read = await torn.read('s')
    const whole = ends.filter((end) => end <= cut).length
    expect(read, `cut at ${cut}`).toEqual((await store.read('s')).slice(0, 2 * whole))
    const again = await torn.lease('s', { owner: 'bob', ttlMs: 1000, takeOver: true, create: true })
    await torn.append('s', [entry(read.length + 1, 'after')], { epoch: again.epoch, head: read.length })
    await torn.close()
  }
  await store.close()
})

test('FD-11 with bytes changed at random, what is read is right or an error, and the file is left as it is', async () => {
  const random = seeded(11)
  const outcomes = { right: 0, refused: 0, rescued: 0, beyondRescue: 0 }
  for (let run = 0; run < 100; run++) {
    const path = at(`flipped-${run}.db`)
    const bytes = Buffer.from(sound)
    for (let flips = 1 + random(4); flips > 0; flips--) {
      const where = run % 10 === 0 ? random(100) : random(bytes.length)
      bytes[where] = bytes[where]! ^ (1 << random(8))
    }
    writeFileSync(path, bytes)
    const store = createSqliteStore({ path })
    for (const id of sessions) {
      const read = await store.read(id).catch(refusal)
      if (read instanceof StoreError) outcomes.refused++
      else {
        expect(read, `run ${run}, session ${id}`).toEqual(expected.get(id))
        outcomes.right++
      }
    }
    await store.list().catch(refusal)
    const got = await store.blobs('s').get(blob).catch(refusal)
    if (got instanceof Uint8Array) expect(got.every((byte) => byte === 7)).toBe(true)
    await store.close()
    expect(readFileSync(path).equals(bytes), `run ${run}: the file itself`).toBe(true)
    const to = at(`rescued-${run}.db`)
    const report = await rescueSqlite({ from: path, to }).catch(refusal)
    expect(readFileSync(path).equals(bytes), `run ${run}: the file after the rescue`).toBe(true)
    if (report instanceof StoreError) {
      outcomes.beyondRescue++
      expect(existsSync(to)).toBe(false)
      continue
    }
    outcomes.rescued++
    const rescued = createSqliteStore({ path: to })
    let found = 0
    for (const { id } of await rescued.list().then(({ sessions }) => sessions)) {
      for (const one of await rescued.read(id)) {
        if ((one.type as string) === 'lost') continue
        found++
        const originals = [...expected.values()].map((entries) => entries[one.seq - 1])
        expect(originals, `run ${run}, ${id}, entry ${one.seq}`).toContainEqual(one)
      }
    }
    expect(found).toBe(report.entries)
    if (found < 180) expect(report.lost.length, `run ${run}: ${180 - found} entries are missing`).toBeGreaterThan(0)
    await rescued.close()
  }
  // Otherwise this would have shown nothing.
  expect(outcomes.right).toBeGreaterThan(50)
  expect(outcomes.refused).toBeGreaterThan(20)
  expect(outcomes.rescued).toBeGreaterThan(60)
})

test('FD-11 a page that is gone leaves the other sessions readable, and a rescue says what was lost', async () => {
  const path = at('page.db')
  const bytes = Buffer.from(sound)
  const where = bytes.indexOf('"seq":50,') // only the longest session has so many that do not share its page
  const page = Math.floor(where / 4096)
  bytes.fill(0, page * 4096, (page + 1) * 4096)
  writeFileSync(path, bytes)
  const store = createSqliteStore({ path })
  const damaged: string[] = []
  for (const id of sessions) {
    const read = await store.read(id).catch(refusal)
    if (read instanceof StoreError) {
      damaged.push(id)
      expect(read.code).toBe('corrupt')
      expect(read.message).toContain(path)
      expect(read.message).toContain('rescueSqlite')
    } else expect(read).toEqual(expected.get(id))
  }
  expect(damaged).toHaveLength(1)
  await expect(store.backup(at('page-backup.db'))).rejects.toThrow(path)
  expect(existsSync(at('page-backup.db'))).toBe(false)
  await store.close()

  const report = await rescueSqlite({ from: path, to: at('page-rescued.db') })
  expect(report.sessions).toBe(3)
  expect(report.messages).toBe(3)
  expect(report.blobs).toBe(1)
  expect(report.entries).toBeGreaterThan(160)
  expect(report.lost).toContainEqual({ session: damaged[0], what: expect.stringMatching(/^entries \d+ to \d+$/) })
  const rescued = createSqliteStore({ path: at('page-rescued.db') })
  const log = await rescued.read(damaged[0]!)
  expect(log.map(({ seq }) => seq)).toEqual(Array.from(log, (_, i) => i + 1))
  expect(log.filter(({ type }) => (type as string) === 'lost').length).toBe(180 - report.entries)
  expect(await rescued.identity()).toMatch(/^[0-9a-f]{32}$/)
  await writeMany(rescued, 1, 1, damaged[0]!)
  await rescued.close()
  await expect(rescueSqlite({ from: path, to: at('page-rescued.db') })).rejects.toThrow('not overwritten')
})

test('FD-11 entries that vanish from the end of a session are missed', async () => {
  const path = at('shorter.db')
  const bytes = Buffer.from(sound)
  const page = Math.floor(bytes.indexOf('"seq":90,') / 4096) * 4096
  bytes.writeUInt16BE(bytes.readUInt16BE(page + 3) - 1, page + 3) // how many rows the page has
  writeFileSync(path, bytes)
  const store = createSqliteStore({ path })
  await expect(store.read(sessions[2]!)).rejects.toThrow('has no entry 90')
  expect(await store.read('s')).toEqual(expected.get('s'))
  await store.close()
})

test('FD-11 what lies between two pages that are gone is rescued', async () => {
  const path = at('between.db')
  const bytes = Buffer.from(sound)
  for (const seq of [63, 78]) {
    const page = Math.floor(bytes.indexOf(`"seq":${seq},`) / 4096) * 4096
    bytes.fill(0, page, page + 4096)
  }
  writeFileSync(path, bytes)
  await rescueSqlite({ from: path, to: at('between-rescued.db') })
  const rescued = createSqliteStore({ path: at('between-rescued.db') })
  const log = await rescued.read(sessions[2]!)
  const original = expected.get(sessions[2]!) ?? []
  for (const seq of [50, 71, 90]) expect(log[seq - 1]).toEqual(original[seq - 1])
  for (const seq of [63, 78]) expect(log[seq - 1]).toMatchObject({ seq, type: 'lost' })
  await rescued.close()
})

test('FD-11 a name that is damaged in its row or in the index never makes a session look empty', async () => {
  const name = 'quite another session'
  const places: number[] = []
  for (let i = sound.indexOf(name); i >= 0; i = sound.indexOf(name, i + 1)) places.push(i)
  let refused = 0
  for (const [i, place] of places.entries()) {
    const path = at(`name-${i}.db`)
    const bytes = Buffer.from(sound)
    bytes[place] = 'z'.charCodeAt(0)
    writeFileSync(path, bytes)
    const store = createSqliteStore({ path })
    const read = await store.read(name).catch(refusal)
    if (read instanceof StoreError) refused++
    else expect(read).toEqual(expected.get(name))
    await store.close()
  }
  expect(refused).toBeGreaterThanOrEqual(2)
})

test('FD-11 after an unclean stop a damaged file is found out before anything is written to it', async () => {
  const path = at('unclean.db')
  writeFileSync(path, sound, { mode: 0o600 })
  const child = runChild(
    `const store = createSqliteStore({ path }); await lease(store, 'u')
     say('sent'); await toldToGoOn()`,
    path,
  )
  await child.said('sent')
  child.process.kill('SIGKILL')
  await child.ended
  checkpoint(path)
  const bytes = readFileSync(path)
  const page = Math.floor(bytes.indexOf('"seq":50,') / 4096)
  bytes.fill(0, page * 4096, page * 4096 + 8)
  writeFileSync(path, bytes)
  const store = createSqliteStore({ path })
  await expect(lease(store, 'new')).rejects.toMatchObject({ code: 'corrupt' })
  await expect(store.send('new', item('k', 'x'))).rejects.toMatchObject({ code: 'corrupt' })
  expect(await store.read('s')).toEqual(expected.get('s'))
  await store.close()
  expect(readFileSync(path).equals(bytes)).toBe(true)
})

test('after an unclean stop a sound file is used as before', async () => {
  const path = at('killed.db')
  const child = runChild(`await write(createSqliteStore({ path }), 's', 3); say('written'); await toldToGoOn()`, path)
  await child.said('written')
  child.process.kill('SIGKILL')
  await child.ended
  const store = createSqliteStore({ path })
  const { head, epoch } = await store.lease('s', { owner: 'bob', ttlMs: 1000, create: true })
  expect(head).toBe(3)
  await store.append('s', [entry(4)], { epoch, head })
  await store.close()
  const database = new DatabaseSync(path, { readOnly: true })
  expect(database.prepare('SELECT count(*) AS n FROM openers').get()).toEqual({ n: 0 })
  database.close()
})

test('a file that is no database is left alone', async () => {
  const path = at('letter.txt')
  writeFileSync(path, 'Dear Ann, '.repeat(500))
  const store = createSqliteStore({ path })
  await expect(store.read('s')).rejects.toMatchObject({ code: 'corrupt' })
  await expect(lease(store)).rejects.toMatchObject({ code: 'corrupt' })
  await store.close()
  expect(readFileSync(path, 'utf8')).toBe('Dear Ann, '.repeat(500))
})

test.each([0, 99])('a database of another program is left alone, if its version is %s too', async (version) => {
  const path = at(`other-${version}.db`)
  const other = new DatabaseSync(path)
  other.exec(`CREATE TABLE birds (name TEXT); PRAGMA user_version = ${version}`)
  other.close()
  const before = readFileSync(path)
  const store = createSqliteStore({ path })
  await expect(lease(store)).rejects.toThrow('another program')
  await store.close()
  expect(readFileSync(path).equals(before)).toBe(true)
})

/** Anything else would be a crash. */
function refusal(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  throw error
}

/** Brings what is in the log into the file, without anything else. */
function checkpoint(path: string): void {
  const database = new DatabaseSync(path)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
}
