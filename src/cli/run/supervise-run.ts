import { AgentAbortedError, messageOf } from '../../core/errors.ts'
import type { AgentStats } from '../../core/usage.ts'
import { visibleText } from '../../platform/visible-text.ts'
import { exitCodes, stopCodes } from '../cli-error.ts'
import { outputFailure } from '../failures/output-failure.ts'
import type { Io, StopSignal } from '../io.ts'
import { exitCodeOf } from './run-outcome.ts'

export interface RunResult {
  readonly stats?: AgentStats
  /** The error that the run failed with; absent when it completed or was stopped. */
  readonly error?: unknown
  readonly exitCode: number
}

export interface RunSupervisor {
  /** The exit code that a signal, a crash or a closed stdout requires. `undefined` after Ctrl-C, which ends only the run. */
  readonly exitCode: number | undefined
  /** The uncaught error, or the failure to write the answer, that caused `exitCode`. */
  readonly error: unknown
  /** What Ctrl-C does: stops the run; the second time it ends the process at once. */
  interrupt(): void
  /** While `work` is pending, signals stop the run instead of ending the process. */
  during<T>(work: Promise<T>): Promise<T>
  /** Waits for a run; never rejects. */
  resultOf(run: Promise<AgentStats>): Promise<RunResult>
  close(): void
}

/**
 * Stops the runs of one process. The first SIGINT stops the current run and keeps its session, a second one ends the
 * process. SIGTERM, SIGHUP, a closed stdout and an uncaught error stop the run and then end the process.
 */
export function superviseRuns(io: Io, abort: () => void, notify: (text: string) => void): RunSupervisor {
  let ending: { readonly exitCode: number; readonly error?: unknown } | undefined
  let graceTimer: NodeJS.Timeout | undefined
  let isRunning = false

  function stop(exitCode: number, error?: unknown): void {
    if (!isRunning) {
      quit(exitCode, error)
      return
    }
    ending ??= { exitCode, ...(error !== undefined && { error }) }
    graceTimer ??= setTimeout(() => quit(exitCode, error), graceMs).unref()
    abort()
  }

  function quit(exitCode: number, error: unknown): void {
    if (error !== undefined) io.err(`libero: ${visibleText(messageOf(error))}`)
    io.quit(exitCode)
  }

  function interrupt(): void {
    if (ending) io.quit(exitCodes.interrupted)
    else {
      if (isRunning) notify('Stopping; the session is kept. Ctrl-C again quits at once.')
      stop(exitCodes.interrupted)
    }
  }

  function onSignal(signal: StopSignal): void {
    if (signal === 'SIGINT') interrupt()
    else stop(stopCodes[signal])
  }

  const onStdoutError = (cause: unknown): void => {
    const { exitCode, error } = outputFailure(cause)
    if (isRunning || !error) stop(exitCode, error) // without a run, the error is reported when the process ends
  }
  io.stdout.on('error', onStdoutError)
  const unsubscribe = [
    io.onSignal(onSignal),
    io.onCrash((error) => stop(exitCodes.error, error)),
    () => void io.stdout.off('error', onStdoutError),
  ]

  async function during<T>(work: Promise<T>): Promise<T> {
    isRunning = true
    try {
      return await work
    } finally {
      isRunning = false
    }
  }

  return {
    get exitCode() {
      return ending?.exitCode
    },
    get error() {
      return ending?.error
    },
    interrupt,
    during,
    async resultOf(run) {
      const endingError = () => ending?.error !== undefined && { error: ending.error }
      try {
        const stats = await during(run)
        return { stats, exitCode: ending?.exitCode ?? exitCodeOf(stats), ...endingError() }
      } catch (error) {
        const aborted = error instanceof AgentAbortedError ? error : undefined
        return {
          exitCode: ending?.exitCode ?? exitCodes.error,
          ...(aborted?.stats && { stats: aborted.stats }),
          ...(aborted && ending ? endingError() : { error }),
        }
      } finally {
        // In a conversation, Ctrl-C must be able to stop the next run too.
        if (ending?.exitCode === exitCodes.interrupted) ending = undefined
        clearTimeout(graceTimer)
        graceTimer = undefined
      }
    },
    close() {
      clearTimeout(graceTimer)
      for (const off of unsubscribe) off()
    },
  }
}

/** How long a stopped run may take to end. Leaves time to quit within five seconds of the signal. */
const graceMs = 4500

/** An `io` that restores the terminal before it writes an error or ends the process. */
export function restoringTerminal(io: Io, restore: () => void): Io {
  const afterRestore =
    <T>(act: (value: T) => void) =>
    (value: T): void => {
      restore()
      act(value)
    }
  return Object.create(io, { quit: { value: afterRestore(io.quit) }, err: { value: afterRestore(io.err) } })
}
