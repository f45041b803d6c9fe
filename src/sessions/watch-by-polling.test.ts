import { expect, test } from 'vitest'
import type { StoreChange } from '../core/store.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { entry, item } from '../testing/store-contract-kit.ts'
import { watchByPolling } from './watch-by-polling.ts'

const nothing: StoreChange = { entries: [], inbox: [] }

test('a watcher that polls asks for what follows the last entry, and shows each message once', async () => {
  const clock = fakeClock()
  const asked: number[] = []
  const answers: (StoreChange | undefined)[] = [
    { entries: [entry(3), entry(4)], inbox: [item('a', 'one')] },
    { entries: [], inbox: [item('a', 'one')] },
    undefined,
    { entries: [entry(5)], inbox: [item('a', 'one'), item('b', 'two')] },
  ]
  const stop = new AbortController()
  const got: StoreChange[] = []
  const done = (async () => {
    const poll = async (after: number) => {
      asked.push(after)
      return answers.shift()
    }
    for await (const change of watchByPolling(poll, { after: 2, signal: stop.signal, clock, everyMs: 100 }))
      got.push(change)
  })()
  await clock.advance(99)
  expect(got).toHaveLength(1)
  await clock.advance(150)
  stop.abort()
  await done
  expect(asked.slice(0, 4)).toEqual([2, 4, 4, 4])
  expect(got).toEqual([
    { entries: [entry(3), entry(4)], inbox: [item('a', 'one')] },
    { entries: [entry(5)], inbox: [item('b', 'two')] },
  ])
  expect(clock.pending).toBe(0)
})

test('a change that is announced while the watcher looks is looked for at once', async () => {
  const clock = fakeClock()
  let ring = (): void => {}
  let looks = 0
  const poll = async () => {
    if (++looks === 1) ring()
    return nothing
  }
  const stop = new AbortController()
  const changes = watchByPolling(poll, {
    signal: stop.signal,
    clock,
    everyMs: 1000,
    subscribe(listener) {
      ring = listener
      return () => {
        ring = () => {}
      }
    },
  })
  const next = changes.next()
  await clock.advance(0)
  expect(looks).toBe(2)
  ring()
  await clock.advance(0)
  expect(looks).toBe(3)
  stop.abort()
  expect(await next).toEqual({ done: true, value: undefined })
  expect(clock.pending).toBe(0)
})

test('an error of the store ends the watcher with that error', async () => {
  const { signal } = new AbortController()
  const poll = async (): Promise<StoreChange> => {
    throw new Error('gone')
  }
  const changes = watchByPolling(poll, { signal, clock: fakeClock(), everyMs: 1 })
  await expect(changes.next()).rejects.toThrow('gone')
})
