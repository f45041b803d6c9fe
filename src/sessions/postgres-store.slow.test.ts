import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { eventually, withPostgres } from '../../test/postgres-kit.ts'
import { sampleOf, testInTurns } from '../../test/soak.ts'
import { SessionBusyError } from '../core/errors.ts'
import { fakeClock, storeContract } from '../testing/index.ts'
import { bytes, entry, hour, input, item, lease, oddEntries, Watcher, write } from '../testing/store-contract-kit.ts'
import type { PostgresSql } from './postgres/driver.ts'

// Each of them has a schema of its own.
const test = testInTurns(2)

withPostgres('the Postgres store', (kit) => {
  describe('keeps the contract', () => {
    let turned = fakeClock()
    const clock = {
      async advance(ms: number) {
        await turned.advance(ms)
        await new Promise((resolve) => setTimeout(resolve, 5)) // a server does not answer within a turn of a fake clock
      },
    }
    const cases = storeContract(
      (clock) => {
        turned = clock as typeof turned
        return kit.openNew({ clock })
      },
      { clock, again: (clock) => kit.open({ clock }) },
    )
    for (const { name, run } of sampleOf(cases, 25)) it(name, run)
  })

  test('a lease expires by the clock of the database server', async () => {
    const store = kit.openNew()
    await store.lease('s', { owner: 'ann', ttlMs: 300, create: true })
    const refused = await lease(store, 's', 'bob').catch((error) => error)
    expect(refused).toBeInstanceOf(SessionBusyError)
    expect(Math.abs(refused.since - Date.now())).toBeLessThan(60_000)
    let epoch: number | undefined
    for (let tries = 0; tries < 500 && epoch === undefined; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      epoch = (await lease(store, 's', 'bob').catch(() => undefined))?.epoch
    }
    expect(epoch).toBeGreaterThan(0)
    await expect(lease(store, 's', 'ann')).rejects.toBeInstanceOf(SessionBusyError)
  })

  test('eight that open a new place at once make it once', async () => {
    const stores = [kit.openNew(), ...Array.from({ length: 7 }, () => kit.open())]
    const names = await Promise.all(stores.map((store) => store.identity?.()))
    expect(new Set(names).size).toBe(1)
    expect(await kit.openNew().identity?.()).not.toBe(names[0])
  })

  test('any string may be an id, an owner or a key, also what Postgres cannot hold', async () => {
    const store = kit.openNew()
    const odd = ['\0', 'a\0b', '\ud800', '\ud801', '\\u0000', '\\', '"', "'", '{,}', '$1', 'null', '']
    for (const id of odd) {
      const { epoch } = await lease(store, id, id)
      await store.send(id, item(`sent ${id}`, id))
      await store.append(id, [{ ...input(1, id, id), id }], { epoch, head: 0 })
      await store.append(id, [{ ...input(1, id, id), id }], { epoch, head: 0 })
      await store.append(`c${id}`, [entry(1, id)], { epoch, head: 0, holder: id, parent: id })
    }
    for (const id of odd) {
      expect(await store.read(id)).toEqual([{ ...input(1, id, id), id }])
      const { epoch, inbox } = await lease(store, id, id)
      expect(inbox).toEqual([item(`sent ${id}`, id)])
      await expect(lease(store, id, 'x')).rejects.toMatchObject(id ? { owner: id } : {})
      await store.lease(id, { owner: id, ttlMs: 0, epoch })
    }
    const { sessions: listed } = await store.list()
    expect(listed.map(({ id }) => id).sort()).toEqual(odd.flatMap((id) => [id, `c${id}`]).sort())
    expect(listed.flatMap(({ parent }) => (parent === undefined ? [] : [parent])).sort()).toEqual(odd.toSorted())
  })

  test('names that an index cannot hold are refused before anything is written', async () => {
    const store = kit.openNew()
    const long = 'x'.repeat(1201)
    await expect(lease(store, long)).rejects.toThrow('The session id "xxx')
    await write(store, 's', 1)
    await expect(store.send('s', item(long, 'text'))).rejects.toThrow('has 1201 bytes')
    const most = Array.from({ length: 1200 }, (_, i) => String.fromCharCode(33 + ((i * 7919) % 58))).join('')
    await write(store, most.replaceAll('"', 'q'), 1)
    await store.send(most.replaceAll('"', 'q'), item(most.replaceAll('"', 'k'), 'text'))
    expect((await store.list()).sessions).toHaveLength(2)
  })

  test('when its first and its last entry were written is listed', async () => {
    const store = kit.openNew()
    const { epoch } = await lease(store)
    await store.append('s', [entry(1), entry(2)], { epoch, head: 0 })
    await store.append('s', [entry(3)], { epoch, head: 2 })
    const summary = { id: 's', head: 3, createdAt: entry(1).at, updatedAt: entry(3).at }
    expect(await store.list()).toMatchObject({ sessions: [summary] })
  })

  test('watchers are told at once, by one connection, and leave nothing behind', async () => {
    const clock = fakeClock(Date.now()) // never turned: nothing is found by looking again
    const store = kit.openNew({ clock })
    const watchers = [new Watcher(store, 's'), new Watcher(store, 's'), new Watcher(store, 't')]
    await eventually(async () => (await listening()) === 1)
    const other = kit.open()
    const { epoch } = await lease(other)
    await lease(other, 't')
    await other.append('s', [entry(1)], { epoch, head: 0 })
    await other.send('t', item('k1', 'hello'))
    await eventually(async () => watchers.every((one) => one.entries.length + one.inbox.length === 1))
    await eventually(async () => clock.pending === 1)
    await Promise.all(watchers.map((one) => one.stop()))
    expect(clock.pending).toBe(0)
    await eventually(async () => (await listening()) === 0)
  })

  test('a watcher whose line was cut is told again after it looked', async () => {
    const clock = fakeClock(Date.now())
    const store = kit.openNew({ clock })
    await lease(store)
    const watcher = new Watcher(store, 's')
    await eventually(async () => (await listening()) === 1)
    await eventually(async () => clock.pending === 1)
    await kit.admin`select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen %'`
    await store.send('s', item('k1', 'first'))
    await eventually(async () => {
      await clock.advance(1000)
      return watcher.inbox.length === 1
    })
    await eventually(async () => (await listening()) === 1)
    await store.send('s', item('k2', 'second'))
    await eventually(async () => watcher.inbox.length === 2)
    await watcher.stop()
  })

  test('a watcher for whom no connection is left looks by himself, and does not ask for one without end', async () => {
    await kit.admin`create role narrow login password 'narrow-way' connection limit 1`
    await kit.admin`grant create on database postgres to narrow`
    const url = `postgres://narrow:narrow-way@127.0.0.1:${kit.proxy.port}/postgres`
    const store = kit.openNew({ url, max: 1, pollMs: hour })
    await lease(store)
    await store.send('s', item('k1', 'first'))
    const watcher = new Watcher(store, 's')
    await eventually(async () => watcher.inbox.length === 1)
    const before = kit.proxy.trips
    for (let i = 0; i < 200; i++) await store.read('none')
    expect(kit.proxy.trips - before).toBeLessThan(200 + 20)
    await watcher.stop()
    await store.close?.()
  })

  test('closing ends watchers and connections, and doing it twice is harmless', async () => {
    const store = kit.openNew({ pollMs: 50 })
    const watcher = new Watcher(store, 's')
    await store.list()
    await store.close?.()
    await store.close?.()
    await watcher.done
    await expect(store.list()).rejects.toMatchObject({ name: 'StoreError', code: 'unavailable' })
    await eventually(async () => (await listening()) === 0)
  })

  test('who watches a store that was closed connects nowhere', async () => {
    const store = kit.openNew({ url: kit.proxied().url })
    await store.list()
    await store.close?.()
    const before = kit.proxy.trips
    await new Watcher(store, 's').done
    await store.close?.() // which waits until everything is hung up
    expect(kit.proxy.trips).toBe(before)
  })

  test('a client that was given is used, with its own ways, and stays open', async () => {
    const given = postgres(kit.server.url(), { max: 1, prepare: false, fetch_types: false, transform: postgres.camel })
    const sql: PostgresSql = given // its type fits, too
    const store = kit.openNew({ sql })
    const { epoch } = await lease(store)
    const watcher = new Watcher(store, 's')
    await store.append('s', oddEntries, { epoch, head: 0 })
    const name = await store.blobs('s').put(bytes)
    expect(await store.blobs('s').get(name)).toEqual(bytes)
    expect(await store.read('s')).toEqual(oddEntries)
    await eventually(async () => watcher.entries.length === oddEntries.length)
    await watcher.stop()
    await store.close?.()
    expect(await given`select 1 as one`).toMatchObject([{ one: 1 }])
    await given.end({ timeout: 1 })
  })

  test('an append, a renewal and a message are one round trip each', async () => {
    const store = kit.openNew({ url: kit.proxied().url, max: 1 })
    const { epoch } = await lease(store)
    await store.append('s', [entry(1)], { epoch, head: 0 })
    await store.send('s', item('k1', 'first'))
    const before = kit.proxy.trips
    for (let seq = 2; seq <= 11; seq++) await store.append('s', [entry(seq)], { epoch, head: seq - 1 })
    expect(kit.proxy.trips - before).toBe(10)
    await store.lease('s', { owner: 'ann', ttlMs: hour, epoch })
    await store.send('s', item('k2', 'second'))
    expect(kit.proxy.trips - before).toBe(12)
    await store.close?.()
  })

  test('without the package of the driver the error says how to get it', async () => {
    const hide = `import { registerHooks } from 'node:module'
      registerHooks({
        resolve(specifier, context, next) {
          if (specifier !== 'postgres') return next(specifier, context)
          throw Object.assign(new Error('Cannot find package postgres'), { code: 'ERR_MODULE_NOT_FOUND' })
        },
      })`
    const script = `
      import { createPostgresStore } from ${JSON.stringify(new URL('./postgres-store.ts', import.meta.url).href)}
      const store = createPostgresStore({ url: 'postgres://localhost/none' })
      await store.list().catch(({ name, code, message }) => console.log(JSON.stringify({ name, code, message })))`
    const hidden = ['--import', `data:text/javascript,${encodeURIComponent(hide)}`]
    const args = ['--conditions=libero-source', ...hidden, '--input-type=module', '-e', script]
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 20_000 })
    expect(JSON.parse(stdout)).toMatchObject({
      name: 'StoreError',
      code: 'unavailable',
      message: expect.stringContaining('npm install postgres'),
    })
  })

  const listening = async (): Promise<number> =>
    (await kit.admin`select pid from pg_stat_activity where query ilike 'listen %'`).length
})
