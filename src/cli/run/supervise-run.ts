import { AgentAbortedError, messageOf } from '../../core/errors.ts'
import type { AgentStats } from '../../core/usage.ts'
import { visibleText } from '../../platform/visible-text.ts'
import { exitCodes, stopCodes } from '../cli-error.ts'
import { outputFailure } from '../failures/output-failure.ts'
import type { Io, StopSignal } from '../io.ts'
import { exitCodeOf } from './run-outcome.ts'

/** How long a run that was told to stop may take to do so: with what it takes to quit, five seconds are not over. */
const graceMs = 4500

export interface RunResult {
  readonly stats?: AgentStats
  /** What it failed with; absent where it came to an end, or was stopped. */
  readonly error?: unknown
  readonly exitCode: number
}

export interface RunSupervisor {
  /** What the process has to end with because of something outside of it; `undefined` if nothing, or Ctrl-C, which ends a run. */
  readonly exitCode: number | undefined
  /** What nobody caught, or why the answer could not be written, where that is why. */
  readonly error: unknown
  /** Stops the run; the second time it quits at once. What Ctrl-C does, wherever it is typed. */
  interrupt(): void
  /** While this is under way, signals stop it in place of ending the process. */
  during<T>(work: Promise<T>): Promise<T>
  /** Waits for a run and says what it came to. */
  resultOf(run: Promise<AgentStats>): Promise<RunResult>
  close(): void
}

/**
 * Watches over the runs of one process: a first SIGINT stops what is under way and keeps what was done, a second one
 * quits; SIGTERM and SIGHUP stop it and end the process; so do a reader that went away and an error nobody caught.
 */
export function superviseRuns(io: Io, abort: () => void, say: (text: string) => void): RunSupervisor {
  let ending: { readonly exitCode: number; readonly error?: unknown } | undefined
  let grace: NodeJS.Timeout | undefined
  let isRunning = false

  function stop(exitCode: number, error?: unknown): void {
    if (!isRunning) {
      leave(exitCode, error)
      return
    }
    ending ??= { exitCode, ...(error !== undefined && { error }) }
    grace ??= setTimeout(() => leave(exitCode, error), graceMs).unref()
    abort()
  }

  function leave(exitCode: number, error: unknown): void {
    if (error !== undefined) io.err(`libero: ${visibleText(messageOf(error))}`)
    io.quit(exitCode)
  }

  function interrupt(): void {
    if (ending) io.quit(exitCodes.interrupted)
    else {
      if (isRunning) say('Stopping; the session is kept. Ctrl-C again quits at once.')
      stop(exitCodes.interrupted)
    }
  }

  function onSignal(signal: StopSignal): void {
    if (signal === 'SIGINT') interrupt()
    else stop(stopCodes[signal])
  }

  const onClosed = (failed: unknown): void => {
    const { exitCode, error } = outputFailure(failed)
    if (isRunning || !error) stop(exitCode, error) // else it is said when the process ends
  }
  const offs = [
    io.onSignal(onSignal),
    io.onCrash((error) => stop(exitCodes.error, error)),
    () => void io.stdout.off('error', onClosed),
  ]
  io.stdout.on('error', onClosed)

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
      try {
        const stats = await during(run)
        return {
          stats,
          exitCode: ending?.exitCode ?? exitCodeOf(stats),
          ...(ending?.error !== undefined && { error: ending.error }),
        }
      } catch (error) {
        const stats = error instanceof AgentAbortedError ? error.stats : undefined
        const isWanted = error instanceof AgentAbortedError && ending !== undefined
        return {
          exitCode: ending?.exitCode ?? exitCodes.error,
          ...(stats && { stats }),
          ...(isWanted ? ending?.error !== undefined && { error: ending.error } : { error }),
        }
      } finally {
        // In a conversation the next run can be stopped again.
        if (ending?.exitCode === exitCodes.interrupted) ending = undefined
        clearTimeout(grace)
        grace = undefined
      }
    },
    close() {
      clearTimeout(grace)
      for (const off of offs) off()
    },
  }
}
