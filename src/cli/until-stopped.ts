import { messageOf } from '../core/errors.ts'
import { visibleText } from '../platform/visible-text.ts'
import { exitCodes, stopCodes } from './cli-error.ts'
import { outputFailure } from './failures/output-failure.ts'
import type { Io } from './io.ts'

/** How long work may take to end after a signal. */
const graceMs = 5000

/**
 * Works until the work is done, a signal arrives, or an error is not caught. Resolves with the exit code: that of the
 * signal, else the one that `work` returns, else success.
 */
export async function untilStopped(io: Io, work: (signal: AbortSignal) => Promise<number | void>): Promise<number> {
  const stopping = new AbortController()
  let stopCode: number | undefined
  let grace: NodeJS.Timeout | undefined
  const stop = (code: number): void => {
    stopCode ??= code
    grace ??= setTimeout(() => io.quit(code), graceMs).unref()
    stopping.abort()
  }
  const offs = [
    io.onSignal((signal) => stop(stopCodes[signal])),
    io.onCrash((error) => {
      io.err(`libero: an error was not caught: ${visibleText(messageOf(error))}`)
      stop(exitCodes.error)
    }),
  ]
  try {
    const exitCode = await work(stopping.signal)
    return stopCode ?? exitCode ?? exitCodes.done
  } finally {
    clearTimeout(grace)
    for (const off of offs) off()
  }
}

/** The same, until the reader of stdout closes it, too. */
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

/** A listener for signals to this process. */
interface StopListener {
  /** Aborts at a signal. */
  readonly signal: AbortSignal
  /** The exit code for that signal. */
  readonly exitCode: number
  /** Stops listening. */
  off(): void
}

/** Listens for signals to this process. */
export function onStop(io: Io): StopListener {
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
