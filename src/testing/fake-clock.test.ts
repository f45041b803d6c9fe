import { expect, test } from 'vitest'
import { fakeClock } from './fake-clock.ts'

test('time stands still until it is moved', async () => {
  const clock = fakeClock(100)
  expect(clock.now()).toBe(100)
  await clock.advance(50)
  expect(clock.now()).toBe(150)
})

test('timers fire once, in the order in which they fall due, at their own time', async () => {
  const clock = fakeClock()
  const fired: [name: string, at: number][] = []
  const set = (name: string, ms: number) => clock.timer(ms, () => fired.push([name, clock.now()]))
  set('second', 20)
  set('first', 10)
  set('beside the second', 20)
  set('later', 31)
  await clock.advance(30)
  expect(fired).toEqual([
    ['first', 10],
    ['second', 20],
    ['beside the second', 20],
  ])
  expect(clock.pending).toBe(1)
})

test('a timer that was called off does not fire', async () => {
  const clock = fakeClock()
  let fired = 0
  const off = clock.timer(10, () => fired++)
  off()
  expect(clock.pending).toBe(0)
  await clock.advance(20)
  expect(fired).toBe(0)
})

test('a timer set by a timer fires in the same move when it falls due in it', async () => {
  const clock = fakeClock()
  const ticks: number[] = []
  const tick = (): void => {
    ticks.push(clock.now())
    clock.timer(10, tick)
  }
  clock.timer(10, tick)
  await clock.advance(35)
  expect(ticks).toEqual([10, 20, 30])
  expect(clock.now()).toBe(35)
})

test('promises settle before the next timer fires and before a move ends', async () => {
  const clock = fakeClock()
  const order: string[] = []
  const say = async (word: string) => {
    for (let i = 0; i < 5; i++) await null
    order.push(word)
  }
  clock.timer(10, () => void say('after the first'))
  clock.timer(20, () => order.push('second'))
  void say('before anything')
  await clock.advance(20)
  expect(order).toEqual(['before anything', 'after the first', 'second'])
})
