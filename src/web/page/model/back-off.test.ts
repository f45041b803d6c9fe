import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { backOff, loadUntilThere } from './back-off.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test('WB137 a pause ends when the browser is online again, and leaves no listener behind', async () => {
  const listening = new Set<() => void>()
  vi.stubGlobal('addEventListener', (_: string, listener: () => void) => listening.add(listener))
  vi.stubGlobal('removeEventListener', (_: string, listener: () => void) => listening.delete(listener))
  const long = backOff(5)
  for (const hear of listening) hear()
  await long
  const short = backOff(0)
  await vi.advanceTimersByTimeAsync(500)
  await short
  expect(listening.size).toBe(0)
})

test('WB137 code is asked for as long as it takes', async () => {
  let tries = 0
  const failures: unknown[] = []
  const load = async (): Promise<string> => {
    if (++tries < 60) throw new Error('away')
    return 'there'
  }
  const loading = loadUntilThere(load, (error) => failures.push(error))
  await vi.advanceTimersByTimeAsync(60 * 15_000)
  expect([await loading, failures.length]).toEqual(['there', 59])
})
