import { expect, test } from 'vitest'
import { fakeClock } from '../testing/index.ts'
import { createDelayedTask } from './retries.ts'

test('FM-07 it is done once for a thousand wishes, and once more for those that come while it is done', async () => {
  const clock = fakeClock()
  const done = Promise.withResolvers<void>()
  let times = 0
  const soon = createDelayedTask(clock, 1000, async () => {
    times++
    await done.promise
  })
  for (let n = 0; n < 1000; n++) soon.request()
  await clock.advance(999)
  expect(times).toBe(0)
  await clock.advance(1)
  expect(times).toBe(1)
  for (let n = 0; n < 1000; n++) soon.request()
  await clock.advance(60_000)
  expect(times).toBe(1)
  done.resolve()
  await clock.advance(1000)
  await clock.advance(60_000)
  expect(times).toBe(2)
})

test('what was stopped is not done', async () => {
  const clock = fakeClock()
  let times = 0
  const soon = createDelayedTask(clock, 1000, async () => void times++)
  soon.request()
  soon.stop()
  soon.request()
  await clock.advance(5000)
  expect(times).toBe(0)
})
