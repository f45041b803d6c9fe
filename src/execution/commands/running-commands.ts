import type { ExecResult } from '../../core/execution.ts'

/** The running commands of one handle. Those that its end stops have the result of a command that had just started. */
export class RunningCommands {
  readonly #running = new Map<AbortController, Promise<unknown>>()
  readonly #ended = new Error('The execution handle was destroyed')

  /** Runs a command; its signal aborts with the given one, and when the handle ends. */
  async run(given: AbortSignal | undefined, start: (signal: AbortSignal) => Promise<ExecResult>): Promise<ExecResult> {
    const stop = new AbortController()
    const follow = (): void => stop.abort(given?.reason)
    if (given?.aborted) follow()
    given?.addEventListener('abort', follow)
    const work = start(stop.signal)
    this.#running.set(stop, work)
    try {
      return await work
    } catch (error) {
      if (error === this.#ended) return { stdout: '', stderr: '', exitCode: null }
      throw error
    } finally {
      this.#running.delete(stop)
      given?.removeEventListener('abort', follow)
    }
  }

  /** Stops all commands; resolves when they have ended, or cannot be ended. */
  async end(): Promise<void> {
    for (const stop of this.#running.keys()) stop.abort(this.#ended)
    await Promise.allSettled(this.#running.values())
  }
}
