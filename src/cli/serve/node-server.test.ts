import { expect, onTestFinished, test, vi } from 'vitest'
import { onSecondSignal } from './node-server.ts'

test('FL93 a SIGTERM that comes twice at once is one; another one after a second quits', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  let signal = (): void => {}
  const codes: number[] = []
  onSecondSignal({
    onSignal(listener) {
      signal = () => listener('SIGTERM')
      return () => {}
    },
    quit: (code) => void codes.push(code),
  })
  signal()
  signal()
  vi.advanceTimersByTime(900)
  signal()
  expect(codes).toEqual([])
  vi.advanceTimersByTime(200)
  signal()
  expect(codes).toEqual([130])
})
