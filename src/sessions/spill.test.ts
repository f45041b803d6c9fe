import { expect, test } from 'vitest'
import { entry, lease } from '../testing/store-contract-kit.ts'
import { createMemoryStore } from './memory-store.ts'
import { withSpill } from './spill.ts'

test('an entry whose blob is damaged or missing is an error that names it, whatever is in its place', async () => {
  const inner = createMemoryStore()
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
