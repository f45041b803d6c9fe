import { expect, test } from 'vitest'
import type { SessionStore } from '../core/store.ts'
import { createMemoryStore } from './memory-store.ts'
import { needsRun } from './needs-run.ts'
import { inboxOf } from './pending.ts'
import { recordFailure } from './record-failure.ts'
import { createSession } from './session.ts'

const message = { clientKey: 'k', mode: 'prompt', content: [{ type: 'text', text: 'Hello' }] } as const

test('the inbox of a session without entries is read at once, and so is that of a deleted one', async () => {
  const store = createMemoryStore()
  expect(await inboxOf(store, 's')).toEqual([])
  await store.lease('s', { owner: 'test', ttlMs: 1000, create: true })
  expect(await inboxOf(store, 's')).toEqual([])
  await store.send('s', message)
  expect(await inboxOf(store, 's')).toEqual([message])
})

test.each([1, 5])('a session of which %i entries were known needs no run if it is deleted meanwhile', async (known) => {
  const kept = createMemoryStore()
  const store: SessionStore = {
    ...kept,
    async read(id, range) {
      const entries = await kept.read(id, range)
      await kept.delete(id)
      return entries
    },
  }
  await (await createSession({ store: kept, id: 's' })).save()
  await recordFailure(kept, 's', 'no such model')
  await kept.send('s', message)
  const summary = await kept.find('s')
  expect(summary).toMatchObject({ attention: 'mail' })
  expect(await needsRun(kept, summary!)).toBe(true)
  expect(await needsRun(store, { ...summary!, head: known })).toBe(false)
})
