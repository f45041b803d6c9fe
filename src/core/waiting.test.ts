import { expect, test } from 'vitest'
import { fakeClock } from '../testing/fake-clock.ts'
import { once, orAborted, sleep, within } from './waiting.ts'

test('work is waited for until its signal aborts', async () => {
  const never = new Promise<string>(() => {})
  const control = new AbortController()
  expect(await orAborted(Promise.resolve('done'), control.signal)).toBe('done')
  expect(await orAborted(Promise.resolve('done'), undefined)).toBe('done')
  const waiting = orAborted(never, control.signal)
  control.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  await expect(orAborted(never, control.signal)).rejects.toThrow('enough')
})

test('a sleep ends with its time or with a signal', async () => {
  const clock = fakeClock()
  let slept = false
  const sleeping = sleep(100, { clock }).then(() => (slept = true))
  await clock.advance(99)
  expect(slept).toBe(false)
  await clock.advance(1)
  await sleeping
  await sleep(100, { clock, signals: [undefined, AbortSignal.abort()] })
})

test('work that takes too long is answered by what onTimeout returns', async () => {
  const clock = fakeClock()
  expect(await within(10, Promise.resolve(1), () => 'late', clock)).toBe(1)
  const waiting = within(10, new Promise(() => {}), () => 'late', clock)
  await clock.advance(10)
  expect(await waiting).toBe('late')
})

test('a value is made once, and again after a promise has failed', async () => {
  let calls = 0
  const value = once(() => ++calls)
  expect([value(), value()]).toEqual([1, 1])
  const failing = once(() => (++calls < 3 ? Promise.reject(new Error('not yet')) : Promise.resolve('there')))
  await expect(failing()).rejects.toThrow('not yet')
  expect(await failing()).toBe('there')
})
