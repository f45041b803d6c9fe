import type { Clock } from '../core/clock.ts'

/** Counts the failures of a server in a row, and schedules the next attempt. */
export class Retries {
  readonly #clock: Clock
  #failures = 0
  #connectedAt = 0
  #disabledAt = 0
  #cancel: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  reset(): void {
    this.#failures = 0
  }

  connected(): void {
    this.#connectedAt = this.#clock.now()
  }

  /** A connection that lasted for a while clears the earlier failures. */
  disconnected(): void {
    if (this.#clock.now() - this.#connectedAt > stableAfterMs) this.reset()
  }

  get areExhausted(): boolean {
    return this.#failures >= mostRetries
  }

  disable(): void {
    this.#disabledAt = this.#clock.now()
  }

  /** Whether the server was disabled so recently that calls must not try it. */
  get isCoolingDown(): boolean {
    return this.#clock.now() - this.#disabledAt < cooldownMs
  }

  /** Retries after a delay that doubles with each failure. */
  schedule(retry: () => void): { readonly attempt: number; readonly delayMs: number } {
    const delayMs = firstDelayMs * 2 ** this.#failures++
    this.#cancel = this.#clock.timer(delayMs, retry)
    return { attempt: this.#failures, delayMs }
  }

  cancel(): void {
    this.#cancel?.()
  }
}

const firstDelayMs = 500
const mostRetries = 5
const stableAfterMs = 30_000
const cooldownMs = 60_000

/** Runs a task a while after it is requested. Requests before and during a run are combined into one further run. */
export interface DelayedTask {
  request(): void
  stop(): void
}

/** `task` must not reject. */
export function createDelayedTask(clock: Clock, delayMs: number, task: () => Promise<void>): DelayedTask {
  let cancel: (() => void) | undefined
  let isRunning = false
  let isRequested = false
  let isStopped = false

  function request(): void {
    isRequested = true
    if (cancel || isRunning || isStopped) return
    cancel = clock.timer(delayMs, () => {
      cancel = undefined
      void run()
    })
  }

  async function run(): Promise<void> {
    isRunning = true
    isRequested = false
    await task()
    isRunning = false
    if (isRequested) request()
  }

  return {
    request,
    stop() {
      isStopped = true
      cancel?.()
    },
  }
}
