import { expect, test } from 'vitest'
import { fakeClock } from '../../testing/fake-clock.ts'
import { askCursor, createPace } from './pace.ts'

const kilobyte = 'x'.repeat(1024)

test('UI82 a terminal that has answered once is asked every two kilobytes, and is behind if it owes two more', async () => {
  let caughtUp = 0
  const pace = createPace(fakeClock(0), () => caughtUp++)
  for (let i = 0; i < 9; i++) expect(pace.wrote(kilobyte)).toBe('')
  expect(pace.isBehind).toBe(false) // it may not know the question
  expect(pace.answered()).toBe(true)
  expect(pace.wrote(kilobyte)).toBe(askCursor)
  expect(pace.wrote(kilobyte)).toBe('')
  expect(pace.isBehind).toBe(false)
  expect(pace.wrote(kilobyte)).toBe('')
  expect(pace.isBehind).toBe(true)
  expect(pace.answered()).toBe(false)
  expect([pace.isBehind, caughtUp]).toEqual([false, 2])
})

test('UI82 a terminal that answers no more is asked no more, and holds nothing back', async () => {
  const clock = fakeClock(0)
  const pace = createPace(clock, () => {})
  pace.answered()
  expect(pace.wrote(kilobyte + kilobyte)).toBe(askCursor)
  pace.wrote(kilobyte + kilobyte)
  expect(pace.isBehind).toBe(true)
  await clock.advance(5000)
  expect(pace.isBehind).toBe(false)
  expect(pace.wrote(kilobyte + kilobyte)).toBe('')
})

test('UI82 leaving waits for an answer that is on its way, for a moment', async () => {
  const clock = fakeClock(0)
  const pace = createPace(clock, () => {})
  await pace.settled()
  pace.answered()
  pace.wrote(kilobyte + kilobyte)
  const answered = pace.settled()
  pace.answered()
  await answered
  pace.wrote(kilobyte + kilobyte)
  const gone = pace.settled()
  await clock.advance(1000)
  await gone
})
