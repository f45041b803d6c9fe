import { exitCodes, stopCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'

/** What a signal to this program does to work under way. */
export interface OnStop {
  readonly signal: AbortSignal
  /** What to end with when it was stopped. */
  readonly exitCode: number
  /** Nobody is waiting for it any more. */
  off(): void
}

/** Listens for signals to this program. */
export function onStop(io: Io): OnStop {
  const stopped = new AbortController()
  let exitCode: number = exitCodes.interrupted
  const off = io.onSignal((signal) => {
    exitCode = stopCodes[signal]
    stopped.abort()
  })
  return {
    signal: stopped.signal,
    get exitCode() {
      return exitCode
    },
    off,
  }
}
