import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { eventually, withPostgres } from '../../../test/postgres-kit.ts'
import { testInTurns } from '../../../test/soak.ts'
import { onFailpoint } from '../../core/log.ts'
import { item, lease, Watcher } from '../../testing/store-contract-kit.ts'
import { allSessions } from '../session-query.ts'

// Each of them has a schema of its own.
const test = testInTurns(2)

const fixture = new URL('../../../test/fixtures/stores/', import.meta.url)
const script = readFileSync(new URL('postgres-format-1.sql', fixture), 'utf8')
const { sessions: expected } = JSON.parse(readFileSync(new URL('expected.json', fixture), 'utf8')) as {
  sessions: Expected[]
}

interface Expected {
  readonly id: string
  readonly parent?: string
  readonly entries: number
  readonly status?: string
  readonly attention?: string
  readonly waiting: readonly string[]
  readonly digest: string
}

withPostgres('ST22 a schema of the version before', (kit) => {
  const formatOf = async (): Promise<string> =>
    (await kit.admin`select value from libero.meta where key = 'format'`)[0]!.value

  async function restore(): Promise<void> {
    await kit.admin.unsafe('drop schema if exists libero cascade')
    await kit.admin.unsafe(script)
  }

  test('ST22 is migrated in place, with every session, message and blob', async () => {
    await restore()
    const store = kit.open({ schema: 'libero' })
    expect(await store.identity?.()).toBe('postgres:00000000-0000-4000-8000-000000000000')
    expect(await formatOf()).toBe('2')
    const listed = await allSessions(store)
    const written = expected.filter(({ entries }) => entries > 0)
    expect(listed.map(({ id }) => id).sort()).toEqual(written.map(({ id }) => id).sort())
    for (const { id, parent, entries, status, attention, waiting, digest } of written) {
      const summary = await store.find(id)
      expect(summary).toEqual(listed.find((one) => one.id === id))
      expect({ id, parent, entries, status, attention }).toEqual({
        id,
        parent: summary?.parent,
        entries: summary?.head,
        status: summary?.status,
        attention: summary?.attention,
      })
      expect(digestOf(await store.read(id))).toBe(digest)
      const watcher = new Watcher(store, id, entries)
      await eventually(() => watcher.inbox.length >= waiting.length)
      await watcher.stop()
      expect(watcher.inbox.map(({ clientKey }) => clientKey)).toEqual(waiting)
    }
    expect(await store.find('plain')).toMatchObject({ title: 'Look at the sky', calls: 1, turns: 5 })
    expect(await store.find('folder')).toMatchObject({ folder: '/projects/shop' })
    const names = await store.blobs('large').names()
    expect(names).toHaveLength(1) // the entry that was in a blob is in the log
    expect(new TextDecoder().decode(await store.blobs('large').get(names[0]!))).toBe('a blob that an entry could name')
  })

  test('ST22 is written as before: keys that were delivered stay known, epochs rise, a message waits for its session', async () => {
    await restore()
    const store = kit.open({ schema: 'libero' })
    await store.send('mail', item('delivered-1', 'The first'))
    const { epoch, head, inbox } = await lease(store, 'mail')
    expect(epoch).toBeGreaterThan(36)
    expect(head).toBe(7)
    expect(inbox.map(({ clientKey }) => clientKey)).toEqual(['waiting-1', 'waiting-2'])
    await store.append('mail', [{ seq: 8, id: 'new', at: 2e12, type: 'label', text: 'new' }], { epoch, head: 7 })
    expect((await store.list({ limit: 1 })).sessions).toMatchObject([{ id: 'mail', head: 8 }])
    await expect(store.lease('only-leased', { owner: 'ann', ttlMs: 1000 })).rejects.toThrow('no session "only-leased"')
    expect((await store.lease('only-mail', { owner: 'ann', ttlMs: 1000 })).inbox).toHaveLength(1)
    expect((await store.list({ parent: 'parent' })).sessions).toMatchObject([{ id: 'parent/1' }])
    await store.delete('parent')
    expect(await store.read('parent/1/2')).toEqual([])
  })

  test('ST22 is as it was if the migration fails, wherever that is', async () => {
    await restore()
    let steps = 0
    onFailpoint((name) => void (name === 'postgres.migrate.step' && steps++))
    await kit.open({ schema: 'libero' }).list()
    const total = steps
    const dump = () => kit.admin`select * from libero.session order by id`
    for (const failing of [1, 2, Math.floor(total / 2), total]) {
      await restore()
      const before = await dump()
      steps = 0
      onFailpoint((name) => {
        if (name === 'postgres.migrate.step' && ++steps === failing) throw new Error('the power is gone')
      })
      await expect(kit.open({ schema: 'libero' }).list()).rejects.toThrow('the power is gone')
      expect(steps).toBe(failing)
      expect(await formatOf()).toBe('1')
      expect(await dump()).toEqual(before)
    }
    onFailpoint(undefined)
    expect(await allSessions(kit.open({ schema: 'libero' }))).toHaveLength(expected.length - 2)
  })

  test('ST22 is migrated although the connection is cut on the way', async () => {
    const cuts = [
      ['advisory_xact_lock', 'after'],
      ['lock table', 'during'],
      ['create function', 'after'],
      ['entry_1', 'before'],
      ['drop function', 'during'],
      ['commit', 'before'],
      ['commit', 'after'],
    ] as const
    for (const [text, where] of cuts) {
      await restore()
      const before = kit.proxy.cuts
      kit.proxy.cut(text, 1, where)
      const store = kit.open({ ...kit.proxied(), schema: 'libero' })
      expect(await allSessions(store)).toHaveLength(expected.length - 2)
      expect(kit.proxy.cuts - before).toBe(1)
      await store.close?.()
    }
  })

  test('ST22 is migrated once by eight that open it at once', async () => {
    await restore()
    let steps = 0
    onFailpoint((name) => void (name === 'postgres.migrate.step' && steps++))
    const stores = Array.from({ length: 8 }, () => kit.open({ schema: 'libero', max: 1 }))
    const lists = await Promise.all(stores.map((store) => allSessions(store)))
    onFailpoint(undefined)
    expect(new Set(lists.map((list) => list.length))).toEqual(new Set([expected.length - 2]))
    const oldSessions = script.match(/insert into libero.session/g)!.length
    expect(steps).toBe(oldSessions + 2)
  })

  test('ST22 a row that cannot be read fails the reading of its session, not the migration', async () => {
    await restore()
    await kit.admin`update libero.entry set body = '{' where session = 'plain' and seq = 15`
    await kit.admin`delete from libero.blob where session = 'large'`
    const store = kit.open({ schema: 'libero' })
    expect(await store.find('plain')).toMatchObject({ head: 15, title: 'Look at the sky' })
    await expect(store.read('plain')).rejects.toMatchObject({ code: 'corrupt' })
    expect(await store.find('large')).toMatchObject({ head: 9 })
    expect(await store.read('plain', { before: 15 })).toHaveLength(14)
  })
})

const digestOf = (entries: unknown): string => createHash('sha256').update(JSON.stringify(entries)).digest('hex')
