import { expect } from 'vitest'
import { StoreError } from '../../src/core/errors.ts'
import type { PostgresStoreOptions } from '../../src/sessions/postgres-store.ts'
import { entry, item, lease } from '../../src/testing/store-contract-kit.ts'
import { withPostgres } from '../postgres-kit.ts'
import { testInTurns } from '../soak.ts'
import { startProxy } from './postgres-proxy.ts'

const test = testInTurns(2)

withPostgres('the Postgres store says what is wrong and what to do', (kit) => {
  const failureOf = async (options: Partial<PostgresStoreOptions>): Promise<StoreError> => {
    const error = await kit
      .openNew({ retryMs: 100, ...options })
      .lease('s', { owner: 'ann', ttlMs: 1000, create: true })
      .catch((error) => error)
    expect(error).toBeInstanceOf(StoreError)
    return error as StoreError
  }

  test('a wrong password: denied, and no word of it or of the url is said', async () => {
    const password = 'not the/right one%'
    const url = kit.server.url({ password })
    const error = await failureOf({ url })
    expect(error.code).toBe('denied')
    expect(error.message).toContain('check the user and the password')
    const { inspect } = await import('node:util')
    const said = inspect(error, { depth: 9, showHidden: true })
    for (const secret of [password, encodeURIComponent(password), url]) expect(said).not.toContain(secret)
  })

  test('a url that cannot be read: its password is not said', async () => {
    const store = kit.openNew({ url: 'postgres://me:se%cret words@@:x/y' })
    const error = await store.list().catch((error) => error)
    expect(error).toBeInstanceOf(TypeError)
    const { inspect } = await import('node:util')
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('cret')
  })

  test('no server: unavailable', async () => {
    const closed = await startProxy(kit.server.port)
    await closed.close()
    const error = await failureOf({ url: kit.server.url({ port: closed.port }) })
    expect(error.code).toBe('unavailable')
    expect(error.message).toContain('check that the server runs')
  })

  test('no such database: unavailable', async () => {
    const error = await failureOf({ url: `${kit.server.url()}_of_nobody` })
    expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining('create the database') })
  })

  test('a server that may only be read: read_only, and reading goes on', async () => {
    await kit.openNew().list()
    const store = kit.open({ url: `${kit.server.url()}?default_transaction_read_only=on` })
    expect(await store.list()).toEqual({ sessions: [] })
    const written = store.send('s', item('k1', 'text'))
    await expect(written).rejects.toMatchObject({ name: 'StoreError', code: 'read_only' })
  })

  test('a user without rights: denied', async () => {
    await kit.openNew().list()
    await kit.admin`create role guest login password 'guest of honour'`
    const url = kit.server.url().replace(/libero:[^@]*/, 'guest:guest%20of%20honour')
    await expect(kit.open({ url }).list()).rejects.toMatchObject({ name: 'StoreError', code: 'denied' })
  })

  test('no connection left: busy', async () => {
    await kit.admin`create role other login password 'one at a time' connection limit 0`
    const error = await failureOf({ url: kit.server.url().replace(/libero:[^@]*/, 'other:one%20at%20a%20time') })
    expect(error).toMatchObject({ code: 'busy', message: expect.stringContaining('max_connections') })
  })

  test('a schema of a newer version: newer, and reading goes on', async () => {
    const store = kit.openNew()
    const { epoch } = await lease(store)
    await store.append('s', [entry(1)], { epoch, head: 0 })
    await kit.admin`update ${kit.admin(kit.schema)}.meta set value = '3' where key = 'format'`
    const older = kit.open()
    expect(await older.read('s')).toEqual([entry(1)])
    expect(await older.list()).toMatchObject({ sessions: [{ id: 's', head: 1 }] })
    const writes = [
      () => older.append('s', [entry(2)], { epoch, head: 1 }),
      () => lease(older),
      () => older.send('s', item('k1', 'text')),
      () => older.delete('s'),
      () => older.blobs('s').put(Uint8Array.of(1)),
    ]
    for (const write of writes)
      await expect(write()).rejects.toMatchObject({
        name: 'StoreError',
        code: 'newer',
        message: expect.stringContaining('update Libero'),
      })
    expect(await older.read('s')).toEqual([entry(1)])
  })

  test('tables that are gone: corrupt, and they are not quietly made anew', async () => {
    const store = kit.openNew()
    await lease(store)
    await kit.admin`drop schema ${kit.admin(kit.schema)} cascade`
    await expect(store.read('s')).rejects.toMatchObject({ name: 'StoreError', code: 'corrupt' })
    await expect(store.send('s', item('k1', 'text'))).rejects.toMatchObject({ name: 'StoreError', code: 'corrupt' })
  })
})
