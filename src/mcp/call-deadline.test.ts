import { expect, test } from 'vitest'
import { fakeClock } from '../testing/index.ts'
import { createCallDeadline } from './call-deadline.ts'

function patient(silentMs: number, totalMs: number) {
  const clock = fakeClock()
  const over: string[] = []
  const patience = createCallDeadline(clock, { silentMs, totalMs }, (why) => over.push(why))
  return { clock, over, patience }
}

test('silence is over after its limit, once', async () => {
  const { clock, over } = patient(100, 1000)
  await clock.advance(99)
  expect(over).toEqual([])
  await clock.advance(5000)
  expect(over).toEqual(['no answer and no progress for 0.1 s'])
  expect(clock.pending).toBe(0)
})

test('FM-15 a sign of life begins silence anew, but not the whole', async () => {
  const { clock, over, patience } = patient(100, 250)
  for (let n = 0; n < 4; n++) {
    await clock.advance(60)
    patience.heard()
  }
  expect(over).toEqual([])
  await clock.advance(10)
  expect(over).toEqual(['no answer within 0.3 s'])
  patience.heard()
  expect(clock.pending).toBe(0)
})

test('while it is held neither limit runs; afterwards both go on', async () => {
  const { clock, over, patience } = patient(100, 250)
  await clock.advance(90)
  const goOn = patience.hold()
  const alsoGoOn = patience.hold()
  patience.heard()
  await clock.advance(100_000)
  goOn()
  goOn()
  await clock.advance(100_000)
  expect(over).toEqual([])
  alsoGoOn()
  await clock.advance(99) // silence begins anew
  patience.heard()
  expect(over).toEqual([])
  await clock.advance(61) // 90 + 99 + 61 is the whole
  expect(over).toEqual(['no answer within 0.3 s'])
})

test('what has ended is over for good', async () => {
  const { clock, over, patience } = patient(100, 250)
  const goOn = patience.hold()
  patience.end()
  goOn()
  patience.heard()
  await clock.advance(1000)
  expect(over).toEqual([])
})
