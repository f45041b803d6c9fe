import { messageOf } from '../../core/errors.ts'
import { visibleText } from '../../platform/visible-text.ts'
import { exitCodes, stopCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'

/** Does something until it is over or a signal comes, and says which exit code that is. */
export async function untilStopped(io: Io, serve: (signal: AbortSignal) => Promise<void>): Promise<number> {
  const stopping = new AbortController()
  let exitCode: number = exitCodes.done
  let grace: NodeJS.Timeout | undefined
  const stop = (code: number): void => {
    if (!stopping.signal.aborted) exitCode = code
    grace ??= setTimeout(() => io.quit(code), graceMs).unref()
    stopping.abort()
  }
  const offs = [
    io.onSignal((signal) => stop(stopCodes[signal])),
    io.onCrash((error) => {
      io.err(`libero: something failed that nobody was waiting for: ${visibleText(messageOf(error))}`)
      stop(exitCodes.error)
    }),
  ]
  try {
    await serve(stopping.signal)
    return exitCode
  } finally {
    clearTimeout(grace)
    for (const off of offs) off()
  }
}

/** How long tools may take to end after a signal. */
const graceMs = 5000
