import { expect, test } from 'vitest'
import { cronWords, durationWords, nextWords, scheduleWords } from './schedule-words.ts'

test('a schedule is told in words', () => {
  expect(scheduleWords({ type: 'interval', everySeconds: 300 })).toBe('every 5 minutes')
  expect(durationWords(90)).toBe('90 seconds')
  expect(durationWords(86_400 + 1800)).toBe('1 day 30 minutes')
  expect(cronWords('0 9 * * 1-5')).toBe('Monday to Friday at 09:00')
  expect(cronWords('30 7 * * 1,3')).toBe('every Monday, Wednesday at 07:30')
  expect(cronWords('*/10 * * * *')).toBe('every 10 minutes')
  expect(cronWords('5 * * * *')).toBe('every hour at :05')
  expect(cronWords('0 0 1 * *')).toBe('by 0 0 1 * *')
})

test('the next time is told from now on', () => {
  const now = new Date(2026, 10, 18, 12, 0).getTime()
  expect(nextWords({ nextRunAt: now + 5 * 60_000 }, now)).toBe('in 5 minutes')
  expect(nextWords({ nextRunAt: now + 45_000 }, now)).toBe('in 45 seconds')
  expect(nextWords({ nextRunAt: new Date(2026, 10, 19, 9, 0).getTime() }, now)).toBe('tomorrow at 09:00')
  expect(nextWords({ nextRunAt: now, enabled: false }, now)).toBe('paused')
  expect(nextWords({}, now)).toBe('over')
})
