import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, vi } from 'vitest'
import { eventually, withPostgres } from '../../../test/postgres-kit.ts'
import { testInTurns } from '../../../test/soak.ts'
import { LeaseLostError, SessionBusyError } from '../../core/errors.ts'
import type { Lease, SessionStore } from '../../core/store.ts'
import { fakeClock } from '../../testing/index.ts'
import { entry, hour, item, lease, write } from '../../testing/store-contract-kit.ts'
import { createSession } from '../session.ts'

// Each of them has a schema of its own.
const test = testInTurns(2)

const hold = (store: SessionStore, id: string, owner = 'ann', ttlMs = 30_000): Promise<Lease> =>
  store.lease(id, { owner, ttlMs, create: true, ofProcess: true })

/** Lets a server answer within a turn of a fake clock. */
const pause = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 20))

withPostgres('leases in Postgres', (kit) => {
  test('ST15 a thousand sessions that one process holds and listens to cost one statement in two seconds', async () => {
    const clock = fakeClock(1_700_000_000_000)
    const start = kit.proxy.statements
    const store = kit.openNew({ ...kit.proxied(), clock, listen: false })
    const stop = new AbortController()
    const ids = Array.from({ length: 1000 }, (_, i) => `s${i}`)
    await Promise.all(ids.map((id) => hold(store, id)))
    const watching = ids.map(async (id) => {
      for await (const _ of store.watch(id, { signal: stop.signal, inboxOnly: true })) expect.fail('nothing was sent')
    })
    await clock.advance(200)
    let [before, quietLooks] = [0, 0]
    await eventually(() => {
      // The leases, in groups, one look for all sessions, and what makes the tables: until no more come.
      quietLooks = kit.proxy.statements === before && before > start ? quietLooks + 1 : 0
      before = kit.proxy.statements
      return quietLooks > 20 && clock.pending === 1
    })
    expect(before - start).toBeLessThan(ids.length / 10)
    for (let seconds = 0; seconds < 60; seconds += 2) {
      await clock.advance(2000)
      await eventually(() => clock.pending === 1)
    }
    expect(kit.proxy.statements - before).toBe(30)
    const other = kit.open({ clock })
    for (const id of ['s0', 's999']) await expect(lease(other, id, 'bob')).rejects.toBeInstanceOf(SessionBusyError)
    expect(await kit.admin`select count(*)::int as rows from ${kit.admin(kit.schema)}.process`).toEqual([{ rows: 1 }])
    stop.abort()
    await Promise.all(watching)
  })

  test('ST15 a message that comes between the lease and the watch is found by one statement for all that begin', async () => {
    const clock = fakeClock(1_700_000_000_000)
    const store = kit.openNew({ ...kit.proxied(), clock, listen: false })
    const stop = new AbortController()
    const ids = ['a', 'b', 'c', 'd']
    await Promise.all(ids.map((id) => hold(store, id)))
    await kit.open({ clock, listen: false }).send('c', item('k1', 'hello'))
    const before = kit.proxy.statements
    const found: string[] = []
    const watching = ids.map(async (id) => {
      for await (const { inbox } of store.watch(id, { signal: stop.signal, inboxOnly: true }))
        found.push(...inbox.map(({ clientKey }) => `${id}: ${clientKey}`))
    })
    await clock.advance(200)
    await eventually(() => found.length > 0)
    expect(found).toEqual(['c: k1'])
    expect(kit.proxy.statements - before).toBeLessThan(ids.length) // what changed, and the inbox of "c", again after it changed
    stop.abort()
    await Promise.all(watching)
  })

  test('ST15 a session sets no timer of its own: the store renews its lease, and says when it is lost', async () => {
    const clock = fakeClock(1_700_000_000_000)
    const store = kit.openNew({ clock, listen: false })
    const sessions = await Promise.all(['a', 'b', 'c'].map((id) => createSession({ store, id, clock })))
    for (const session of sessions) await session.open()
    expect(clock.pending).toBe(1)
    const lost: LeaseLostError[] = []
    const stop = new AbortController()
    const listening = sessions.map((session) => session.listen(stop.signal, (error) => lost.push(error)))
    await kit.open({ clock }).lease('b', { owner: 'bob', ttlMs: hour, takeOver: true })
    await eventually(async () => {
      await clock.advance(1000)
      return lost.length > 0
    })
    expect(lost).toMatchObject([{ name: 'LeaseLostError', owner: 'bob' }])
    stop.abort()
    await Promise.all(listening)
    for (const session of sessions) await session.release()
    expect(clock.pending).toBe(0)
    await lease(store, 'a', 'eve')
  })

  test('ST15 a process that was paused past its time has lost what others took, and keeps the rest', async () => {
    const store = kit.openNew()
    await store.list()
    const script = fileURLToPath(new URL('../../../test/faults/store-postgres-child.ts', import.meta.url))
    const args = ['--conditions=libero-source', script, kit.server.url(), kit.schema]
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const said: string[] = []
    createInterface({ input: child.stdout }).on('line', (line) => said.push(line))
    await eventually(() => said.includes('leased'))
    await expect(hold(store, 's', 'bob')).rejects.toBeInstanceOf(SessionBusyError)
    child.kill('SIGSTOP')
    let taken: Lease | undefined
    await eventually(async () => {
      taken = await hold(store, 's', 'bob').catch(() => undefined)
      return taken !== undefined
    })
    expect(taken!.died).toMatchObject({ sessions: 2 })
    await store.append('s', [entry(2, 'by bob')], { epoch: taken!.epoch, head: 1 })
    child.kill('SIGCONT')
    child.stdin.write('append\n')
    await once(child, 'exit')
    expect(said.toSorted()).toEqual(['leased', 's lost: LeaseLostError bob', 's refused: LeaseLostError', 't appended'])
    expect(await store.read('s')).toEqual([entry(1), entry(2, 'by bob')])
    expect(await store.read('t')).toEqual([entry(1), entry(2, 'by the child')])
  })

  test('ST15 a clock of a client that jumps changes nothing: the clock of the server counts', async () => {
    const store = kit.openNew()
    await hold(store, 's', 'ann', 1200)
    const jumped = Date.now() + hour
    vi.spyOn(Date, 'now').mockImplementation(() => jumped)
    onTestFinished(() => void vi.restoreAllMocks())
    const other = kit.open()
    for (let tries = 0; tries < 20; tries++) {
      await expect(hold(other, 's', 'bob')).rejects.toBeInstanceOf(SessionBusyError)
      await new Promise((resolve) => setTimeout(resolve, 100)) // the lease would have ended
    }
  })

  test('ST15 a lease without "ofProcess" ends unless it is renewed, while its process lives', async () => {
    const clock = fakeClock(1_700_000_000_000)
    const store = kit.openNew({ clock })
    await hold(store, 'held', 'ann', 1000)
    const { epoch } = await store.lease('plain', { owner: 'ann', ttlMs: 1000, create: true })
    for (let i = 0; i < 3; i++) {
      await clock.advance(334)
      await pause()
    }
    const other = kit.open({ clock })
    await lease(other, 'plain', 'bob')
    await expect(lease(other, 'held', 'bob')).rejects.toBeInstanceOf(SessionBusyError)
    await expect(store.lease('plain', { owner: 'ann', ttlMs: 1000, epoch })).rejects.toBeInstanceOf(LeaseLostError)
  })

  test('ST18 who takes the sessions of a dead process learns how many it held, as the first one found it', async () => {
    const clock = fakeClock(1_700_000_000_000)
    const dead = kit.openNew({ clock: fakeClock(clock.now()) }) // its clock stands still, and so does its process
    for (const id of ['a', 'b', 'c', 'back']) await hold(dead, id)
    const back = await hold(dead, 'back')
    await dead.lease('back', { owner: 'ann', ttlMs: 0, epoch: back.epoch })
    await write(dead, 'plain', 1)
    const alive = kit.open({ clock })
    await expect(hold(alive, 'a', 'bob')).rejects.toBeInstanceOf(SessionBusyError)
    await clock.advance(30_000)
    const [row] = await kit.admin`select id from ${kit.admin(kit.schema)}.process`
    const died = { processId: row!.id, sessions: 3 }
    expect((await hold(alive, 'a', 'bob')).died).toEqual(died)
    expect((await alive.lease('b', { owner: 'eve', ttlMs: 1000 })).died).toEqual(died)
    expect((await hold(alive, 'c', 'bob')).died).toEqual(died)
    expect((await hold(alive, 'c', 'bob')).died).toBeUndefined()
    await clock.advance(hour)
    expect((await lease(alive, 'plain', 'bob')).died).toBeUndefined()
  })

  test('ST18 two that look dead to each other may take each other’s sessions at once', async () => {
    const start = 1_700_000_000_000
    const stores = [kit.openNew({ clock: fakeClock(start) }), kit.open({ clock: fakeClock(start) })]
    const names = Array.from({ length: 20 }, (_, i) => [`a${i}`, `b${i}`])
    for (const [i, store] of stores.entries()) for (const pair of names) await hold(store, pair[i]!, `owner ${i}`)
    const heirs = [0, 1].map(() => kit.open({ clock: fakeClock(start + 31_000), retryMs: 0 }))
    const taken = await Promise.all(
      names.flatMap((pair) => heirs.map((store, i) => hold(store, pair[1 - i]!, `heir ${i}`))),
    )
    expect(taken.every(({ died }) => died?.sessions === 20)).toBe(true)
  })

  test('FL95 a lease that could not be given back is given back later, although its process lives and goes on', async () => {
    const clock = fakeClock(1_700_000_000_000)
    const store = kit.openNew({ ...kit.proxied(), clock, listen: false, retryMs: 0 })
    const { epoch } = await hold(store, 's')
    await hold(store, 'kept')
    kit.proxy.refuse(true)
    onTestFinished(() => kit.proxy.refuse(false))
    await kit.admin`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'libero'`
    await expect(store.lease('s', { owner: 'ann', ttlMs: 0, epoch })).rejects.toThrow()
    kit.proxy.refuse(false)
    const other = kit.open({ clock })
    for (let beats = 0; beats < 3; beats++) {
      await clock.advance(10_000)
      await eventually(() => clock.pending === 1)
    }
    expect((await hold(other, 's', 'bob')).died).toBeUndefined()
    await expect(hold(other, 'kept', 'bob')).rejects.toBeInstanceOf(SessionBusyError)
  })

  test('a store that is closed gives back the leases of its process', async () => {
    const store = kit.openNew()
    const { epoch } = await hold(store, 's')
    await store.append('s', [entry(1)], { epoch, head: 0 })
    await store.close?.()
    const other = kit.open()
    expect((await other.find('s'))?.isHeld).toBeUndefined()
    expect((await hold(other, 's', 'bob')).died).toBeUndefined()
    expect(await kit.admin`select count(*)::int as rows from ${kit.admin(kit.schema)}.process`).toEqual([{ rows: 1 }])
  })

  test('a session that was only leased is gone when its lease is given back, unless a message waits for it', async () => {
    const store = kit.openNew()
    for (const id of ['s', 't']) {
      const { epoch } = await lease(store, id)
      if (id === 't') await store.send(id, item('k', 'keep this'))
      await store.lease(id, { owner: 'ann', ttlMs: 0, epoch })
      await store.lease(id, { owner: 'ann', ttlMs: 0, epoch }) // may be repeated
    }
    await expect(store.send('s', item('k', 'text'))).rejects.toThrow('no session "s"')
    await expect(store.lease('s', { owner: 'ann', ttlMs: 1000 })).rejects.toThrow('no session "s"')
    expect((await store.lease('t', { owner: 'ann', ttlMs: 1000 })).inbox).toHaveLength(1)
    expect(await store.list()).toEqual({ sessions: [] })
  })
})
