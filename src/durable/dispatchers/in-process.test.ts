import { describe, expect, test } from 'vitest'
import { trackCommit } from '../../sessions/postgres/after-commit.ts'
import { dispatcherContract, fakeClock } from '../../testing/index.ts'
import { inProcessDispatcher } from './in-process.ts'

describe('the dispatcher in memory keeps the contract', () => {
  for (const { name, run } of dispatcherContract((clock) => inProcessDispatcher({ clock }))) test(name, run)
})

test('FL38 a session is claimed by one worker at a time', async () => {
  const dispatcher = inProcessDispatcher({ clock: fakeClock() })
  const options = { kinds: ['coder'], tenantLimits: {} }
  await dispatcher.wake('s', { kind: 'coder' })
  const jobs = await dispatcher.claim(5, options)
  await dispatcher.wake('s', { kind: 'coder' })
  expect(await dispatcher.claim(5, options)).toEqual([])
  await dispatcher.settle(jobs)
  expect(await dispatcher.claim(5, options)).toHaveLength(1)
})

test('FL38 a timer tells of the next job of a later time, and none is left behind', async () => {
  const clock = fakeClock()
  const dispatcher = inProcessDispatcher({ clock })
  let calls = 0
  dispatcher.onWake?.(() => calls++)
  await dispatcher.wake('a', { kind: 'coder', at: 5000 })
  await dispatcher.wake('b', { kind: 'coder', at: 2000 })
  await clock.advance(1999)
  expect(calls).toBe(0)
  await clock.advance(1)
  expect(calls).toBe(1)
  await clock.advance(10_000)
  expect(calls).toBe(2)
  await dispatcher.wake('c', { kind: 'coder', at: 50_000 })
  await dispatcher.close()
  expect(clock.pending).toBe(0)
})

test('FL94 a wake in a transaction of a store counts when it has committed, and never before', async () => {
  const dispatcher = inProcessDispatcher({ clock: fakeClock() })
  const options = { kinds: ['coder'], tenantLimits: {} }
  const transaction = { unsafe: async () => [] }
  const commit = trackCommit(transaction)
  await dispatcher.wake('s', { kind: 'coder', transaction })
  expect(await dispatcher.claim(5, options)).toEqual([])
  commit()
  expect(await dispatcher.claim(5, options)).toHaveLength(1)
})
