import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import type { Clock } from '../../src/core/clock.ts'
import { SessionBusyError } from '../../src/core/errors.ts'
import { type ProcessIdentity, thisProcess } from '../../src/platform/process-identity.ts'
import { createSqliteStore } from '../../src/sessions/sqlite-store.ts'
import { entry, hour, item, lease, write } from '../../src/testing/store-contract-kit.ts'
import { databaseFolder, runChild } from './store-sqlite-kit.ts'

const at = databaseFolder()

test('FD-13 the lease of a process that was killed is free at once', async () => {
  const path = at('killed.db')
  const child = await leaseInChild(path)
  const store = createSqliteStore({ path })
  const busy = await lease(store, 's', 'bob').catch((error) => error)
  expect(busy).toBeInstanceOf(SessionBusyError)
  expect(busy).toMatchObject({ owner: 'ann', since: expect.any(Number) })
  child.process.kill('SIGKILL')
  await child.ended
  const { epoch, head } = await lease(store, 's', 'bob')
  expect(head).toBe(1)
  await store.append('s', [entry(2)], { epoch, head })
  await store.close()
})

test.runIf(process.platform === 'linux')(
  'FD-13 a lease whose number now belongs to another process is free at once',
  async () => {
    const path = at('reused.db')
    const store = createSqliteStore({ path })
    await write(store, 's', 1)
    await expect(lease(store, 's', 'bob')).rejects.toBeInstanceOf(SessionBusyError)
    const me = thisProcess()
    setProcess(path, { ...me, started: String(Number(me.started) - 1) })
    await lease(store, 's', 'bob')
    setProcess(path, { ...me, boot: 'another start of the machine' })
    await lease(store, 's', 'cid')
    await store.close()
  },
)

test('a lease held in another container lasts until it expires, because its process cannot be checked', async () => {
  const path = at('container.db')
  const store = createSqliteStore({ path })
  await write(store, 's', 1)
  setProcess(path, { ...thisProcess(), host: 'another', pid: 1 })
  await expect(lease(store, 's', 'bob')).rejects.toBeInstanceOf(SessionBusyError)
  await store.close()
})

test('FD-15 a clock that went back an hour does not keep the session of a dead process locked', async () => {
  const path = at('back-dead.db')
  const child = await leaseInChild(path)
  child.process.kill('SIGKILL')
  await child.ended
  const store = createSqliteStore({ path, clock: shifted(-hour) })
  await lease(store, 's', 'bob')
  await store.close()
})

test('FD-15 a clock that went back keeps a living owner its lease for no longer than it asked for', async () => {
  const path = at('back.db')
  const time = { now: 10 * hour }
  const clock: Clock = { now: () => time.now, timer: () => () => {} }
  const store = createSqliteStore({ path, clock })
  await store.lease('s', { owner: 'ann', ttlMs: 1000, create: true })
  time.now -= hour
  await expect(lease(store, 's', 'bob')).rejects.toBeInstanceOf(SessionBusyError)
  time.now += 999
  await expect(lease(store, 's', 'bob')).rejects.toBeInstanceOf(SessionBusyError)
  time.now += 2
  await lease(store, 's', 'bob')
  await store.close()
})

test('FD-15 a clock that went on an hour never gives a session two writers, and order stays by number', async () => {
  const path = at('forward.db')
  const slow = createSqliteStore({ path })
  const fast = createSqliteStore({ path, clock: shifted(2 * hour) })
  const epoch = await write(slow, 's', 1)
  const theirs = await lease(fast, 's', 'bob')
  expect(theirs.epoch).toBeGreaterThan(epoch)
  await expect(slow.append('s', [entry(2, 'late')], { epoch, head: 1 })).rejects.toMatchObject({ owner: 'bob' })
  await fast.append('s', [{ ...entry(2), at: 5 }], { epoch: theirs.epoch, head: 1 })
  expect((await slow.read('s')).map(({ seq }) => seq)).toEqual([1, 2])
  await Promise.all([slow.close(), fast.close()])
})

test('R14 the lease of a living process is held whatever the clock says, and its clock is not asked', async () => {
  const path = at('living.db')
  const child = await leaseInChild(path)
  for (const clock of [shifted(2 * hour), shifted(-2 * hour)]) {
    const store = createSqliteStore({ path, clock })
    await expect(lease(store, 's', 'bob')).rejects.toMatchObject({ name: 'SessionBusyError', owner: 'ann' })
    expect(await store.find('s')).toMatchObject({ isHeld: true })
    await store.close()
  }
  child.goOn()
  await child.ended
  const store = createSqliteStore({ path, clock: shifted(-2 * hour) })
  expect(await store.find('s')).not.toHaveProperty('isHeld')
  await lease(store, 's', 'bob')
  await store.close()
})

test('ST18 a lease tells how many sessions its dead process held, and the number does not change with each one taken', async () => {
  const path = at('aboard.db')
  const child = runChild(
    `const [store, second] = [createSqliteStore({ path }), createSqliteStore({ path })]
     for (const id of ['a', 'b', 'given back']) await write(store, id, 1)
     await write(second, 'c', 1)
     const { epoch } = await lease(store, 'given back')
     await store.lease('given back', { owner: 'ann', ttlMs: 0, epoch })
     say('held'); await toldToGoOn()`,
    path,
  )
  await child.said('held')
  child.process.kill('SIGKILL')
  await child.ended
  const store = createSqliteStore({ path })
  const taken = [await lease(store, 'a', 'bob'), await lease(store, 'b', 'bob'), await lease(store, 'c', 'bob')]
  expect(taken.map(({ died }) => died?.sessions)).toEqual([3, 3, 3])
  expect(new Set(taken.map(({ died }) => died?.processId)).size).toBe(1)
  expect(await lease(store, 'given back', 'bob')).not.toHaveProperty('died')
  expect(await lease(store, 'a', 'bob')).not.toHaveProperty('died')
  const taker = await store.lease('b', { owner: 'cid', ttlMs: hour, takeOver: true })
  expect(taker).not.toHaveProperty('died')
  await store.close()
  expect(openersIn(path)).toBe(0)
})

test('ST18 a process in another container that takes leases after it was taken for dead has them counted when it dies', async () => {
  const path = at('supposed.db')
  const store = createSqliteStore({ path })
  for (const id of ['a', 'b']) await write(store, id, 1)
  setProcess(path, { ...thisProcess(), host: 'another', pid: 1 })
  const later = createSqliteStore({ path, clock: shifted(2 * hour) })
  expect((await lease(later, 'a', 'bob')).died).toMatchObject({ sessions: 2 })
  for (const id of ['c', 'd']) await write(store, id, 1)
  expect((await lease(later, 'b', 'bob')).died).toMatchObject({ sessions: 3 })
  await Promise.all([store.close(), later.close()])
})

test('ST05 a session that was leased and never written goes with its lease, also if its process dies or closes the store', async () => {
  const path = at('unwritten.db')
  const store = createSqliteStore({ path })
  const { epoch } = await lease(store, 's')
  await store.lease('s', { owner: 'ann', ttlMs: 0, epoch })
  const missing = { name: 'SessionNotFoundError' }
  await expect(store.lease('s', { owner: 'bob', ttlMs: hour })).rejects.toMatchObject(missing)
  await expect(store.send('s', item('k', 'x'))).rejects.toMatchObject(missing)
  await lease(store, 'closed')
  await store.close()
  const child = runChild(`await lease(createSqliteStore({ path }), 'died'); say('held'); await toldToGoOn()`, path)
  await child.said('held')
  child.process.kill('SIGKILL')
  await child.ended
  const later = createSqliteStore({ path })
  await lease(later, 'other')
  for (const id of ['closed', 'died']) await expect(later.send(id, item('k', 'x'))).rejects.toMatchObject(missing)
  await lease(later, 'mail')
  await later.send('mail', item('k', 'is kept'))
  await later.close()
  const last = createSqliteStore({ path })
  expect((await last.lease('mail', { owner: 'bob', ttlMs: hour })).inbox).toEqual([item('k', 'is kept')])
  await last.close()
})

test('a renewal that another process fenced off names the new owner', async () => {
  const path = at('fenced.db')
  const store = createSqliteStore({ path })
  const epoch = await write(store, 's', 1)
  const child = runChild(
    `await createSqliteStore({ path }).lease('s', { owner: 'bob', ttlMs: 1000, takeOver: true, create: true })`,
    path,
  )
  expect((await child.ended).code).toBe(0)
  const renewal = store.lease('s', { owner: 'ann', ttlMs: hour, epoch })
  await expect(renewal).rejects.toMatchObject({ name: 'LeaseLostError', owner: 'bob' })
  await store.close()
})

/** Another process that wrote an entry as `ann` and holds the lease for an hour. */
async function leaseInChild(path: string): Promise<ReturnType<typeof runChild>> {
  const code = `await write(createSqliteStore({ path }), 's', 1); say('held'); await toldToGoOn()`
  const child = runChild(code, path)
  await child.said('held')
  return child
}

function openersIn(path: string): unknown {
  const database = new DatabaseSync(path, { readOnly: true })
  const { n } = database.prepare('SELECT count(*) AS n FROM openers').get() ?? {}
  database.close()
  return n
}

function setProcess(path: string, identity: ProcessIdentity): void {
  const database = new DatabaseSync(path)
  database.prepare('UPDATE openers SET process = ?').run(JSON.stringify(identity))
  database.close()
}

const shifted = (by: number): Clock => ({ now: () => Date.now() + by, timer: () => () => {} })
