import { expect, test } from 'vitest'
import { fakeClock } from '../testing/index.ts'
import { createCallDeadline } from './call-deadline.ts'

function open(silentMs: number, totalMs: number) {
  const clock = fakeClock()
  const over: string[] = []
  const deadline = createCallDeadline(clock, { silentMs, totalMs }, (why) => over.push(why))
  return { clock, over, deadline }
}

test('a silent call times out once', async () => {
  const { clock, over } = open(100, 1000)
  await clock.advance(99)
  expect(over).toEqual([])
  await clock.advance(5000)
  expect(over).toEqual(['no answer and no progress for 0.1 s'])
  expect(clock.pending).toBe(0)
})

test('FM-15 progress restarts the limit on silence, but not the total limit', async () => {
  const { clock, over, deadline } = open(100, 250)
  for (let n = 0; n < 4; n++) {
    await clock.advance(60)
    deadline.restart()
  }
  expect(over).toEqual([])
  await clock.advance(10)
  expect(over).toEqual(['no answer within 0.3 s'])
  deadline.restart()
  expect(clock.pending).toBe(0)
})

test('a pause stops both limits; afterwards both go on', async () => {
  const { clock, over, deadline } = open(100, 250)
  await clock.advance(90)
  const resume = deadline.pause()
  const resumeSecond = deadline.pause()
  deadline.restart()
  await clock.advance(100_000)
  resume()
  resume()
  await clock.advance(100_000)
  expect(over).toEqual([])
  resumeSecond()
  await clock.advance(99) // the limit on silence starts again
  deadline.restart()
  expect(over).toEqual([])
  await clock.advance(61) // 90 + 99 + 61 is the total
  expect(over).toEqual(['no answer within 0.3 s'])
})

test('a deadline that has ended never fires', async () => {
  const { clock, over, deadline } = open(100, 250)
  const resume = deadline.pause()
  deadline.end()
  resume()
  deadline.restart()
  await clock.advance(1000)
  expect(over).toEqual([])
})
