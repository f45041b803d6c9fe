import { expect, test } from 'vitest'
import type { SessionStore } from '../core/store.ts'
import { createMemoryStore } from './memory-store.ts'
import { recordFailure } from './record-failure.ts'
import { createSession } from './session.ts'

test('a failure is recorded with one append, so that a process that dies leaves no open run', async () => {
  const kept = createMemoryStore()
  const session = await createSession({ store: kept, id: 's' })
  await session.save()
  const appends: (readonly string[])[] = []
  const store: SessionStore = {
    ...kept,
    append(id, entries, fence) {
      appends.push(entries.map(({ type }) => type))
      return kept.append(id, entries, fence)
    },
  }
  await recordFailure(store, 's', 'no such model')
  expect(appends).toEqual([['run_started', 'run_ended']])
  expect((await kept.read('s')).at(-1)).toMatchObject({ status: 'error', error: { message: 'no such model' } })
})
