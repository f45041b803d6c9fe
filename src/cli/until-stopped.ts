import { messageOf } from '../core/errors.ts'
import { visibleText } from '../platform/visible-text.ts'
import { exitCodes, stopCodes } from './cli-error.ts'
import { outputFailure } from './failures/output-failure.ts'
import type { Io } from './io.ts'

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

/** Does something until a signal comes or nobody reads any more what is printed, and says which exit code that is. */
export async function untilUnread(io: Io, work: (signal: AbortSignal) => Promise<void>): Promise<number> {
  const unread = new AbortController()
  let exitCode: number | undefined
  const onError = (error: unknown): void => {
    exitCode ??= outputFailure(error).exitCode
    unread.abort()
  }
  io.stdout.on('error', onError)
  try {
    const stopped = await untilStopped(io, (signal) => work(AbortSignal.any([signal, unread.signal])))
    return exitCode ?? stopped
  } finally {
    io.stdout.off('error', onError)
  }
}
