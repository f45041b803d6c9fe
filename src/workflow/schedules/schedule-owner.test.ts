import { expect, test } from 'vitest'
import { isOtherWake, wakeKey } from './schedule-owner.ts'

test.each([
  [wakeKey('tick', 60), true],
  [`${wakeKey('tick', 60)}~again`, true],
  [wakeKey('tick', 120), false], // the same one, sent once more
  [`${wakeKey('tick', 120)}~again`, false],
  [wakeKey('tick:60', 60), false],
  [wakeKey('tock', 60), false],
  ['schedule:tick:', false],
  ['something a person said', false],
])('whether %s is another wake-up of the schedule: %s', (key, isOne) => {
  expect(isOtherWake(key, { scheduleId: 'tick', dueAt: 120 })).toBe(isOne)
})
