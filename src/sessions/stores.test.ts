import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createFileMapStore, createJsonlStore, createSqliteStore } from './stores.ts'

const folder = mkdtempSync(join(tmpdir(), 'libero-lazy-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each([
  ['SQLite', (place: string) => createSqliteStore({ path: place })],
  ['JSONL', (place: string) => createJsonlStore({ dir: place })],
])('a store of the root (%s) that was closed before it was ever used stays closed', async (name, make) => {
  const place = join(folder, name)
  const store = make(place)
  await store.close?.()
  await expect(store.lease('s', { owner: 'ann', ttlMs: 1000, create: true })).rejects.toMatchObject({
    code: 'unavailable',
  })
  expect(existsSync(place)).toBe(false)
})

test('a store of the root has an identity only where the store behind it has one', async () => {
  expect(createFileMapStore({ get: () => undefined, save() {}, delete() {} }).identity).toBeUndefined()
  const store = createJsonlStore({ dir: join(folder, 'named') })
  expect(await store.identity?.()).toMatch(/./)
  await store.close?.()
})
