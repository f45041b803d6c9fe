import { expect, test } from 'vitest'
import { fakeClock } from '../testing/index.ts'
import { createDelayedTask } from './retries.ts'

test('FM-07 a delayed task runs once for a thousand requests, and once more for requests during its run', async () => {
  const clock = fakeClock()
  const done = Promise.withResolvers<void>()
  let times = 0
  const task = createDelayedTask(clock, 1000, async () => {
    times++
    await done.promise
  })
  for (let n = 0; n < 1000; n++) task.request()
  await clock.advance(999)
  expect(times).toBe(0)
  await clock.advance(1)
  expect(times).toBe(1)
  for (let n = 0; n < 1000; n++) task.request()
  await clock.advance(60_000)
  expect(times).toBe(1)
  done.resolve()
  await clock.advance(1000)
  await clock.advance(60_000)
  expect(times).toBe(2)
})

test('a stopped task does not run', async () => {
  const clock = fakeClock()
  let times = 0
  const task = createDelayedTask(clock, 1000, async () => void times++)
  task.request()
  task.stop()
  task.request()
  await clock.advance(5000)
  expect(times).toBe(0)
})
