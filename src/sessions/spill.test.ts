import { expect, test } from 'vitest'
import { entry, lease } from '../testing/store-contract-kit.ts'
import { createMemoryStore } from './memory-store.ts'
import { type SpillingStore, withSpill } from './spill.ts'

/** A store as one that keeps its large entries in blobs, with the types of the entries that it got. */
function spillingStore(): { readonly inner: SpillingStore; readonly types: string[] } {
  const inner = createMemoryStore()
  const types: string[] = []
  return {
    types,
    inner: {
      ...inner,
      async append(id, entries, fence, { blobs }) {
        for (const { bytes } of blobs) await inner.blobs(id).put(bytes)
        types.push(...entries.map(({ type }) => type))
        await inner.append(id, entries, fence)
      },
    },
  }
}

test('E03 an entry of more than 256 KiB is kept as a blob, and every reader sees it whole', async () => {
  const { inner, types } = spillingStore()
  const store = withSpill(inner)
  const { epoch } = await lease(store)
  const entries = [entry(1), entry(2, 'x'.repeat(300_000)), entry(3)]
  await store.append('s', entries, { epoch, head: 0 })
  const own = await store.blobs('s').put(new Uint8Array([1]))
  expect(types).toEqual(['label', 'spilled', 'label'])
  expect(await store.read('s')).toEqual(entries)
  expect(await store.read('s', { after: 1, limit: 1 })).toEqual([entries[1]])
  const stop = new AbortController()
  for await (const change of store.watch('s', { after: 1, signal: stop.signal })) {
    expect(change.entries).toEqual(entries.slice(1))
    stop.abort()
  }
  expect(await inner.blobs('s').names()).toHaveLength(2)
  expect(await store.blobs('s').names()).toEqual([own])
})

test('an entry whose blob is damaged or missing is an error that names it, whatever is in its place', async () => {
  const { inner } = spillingStore()
  let damaged: Uint8Array | undefined
  const store = withSpill({
    ...inner,
    blobs: (id) => ({ ...inner.blobs(id), get: async () => damaged }),
  })
  const { epoch } = await lease(store)
  await store.append('s', [entry(1, 'x'.repeat(300_000))], { epoch, head: 0 })
  for (const text of [undefined, '', '{"seq":1,', 'null', '{"seq":2}']) {
    damaged = text === undefined ? undefined : new TextEncoder().encode(text)
    const corrupt = { name: 'StoreError', code: 'corrupt', message: expect.stringContaining('entry 1') }
    await expect(store.read('s')).rejects.toMatchObject(corrupt)
  }
})
