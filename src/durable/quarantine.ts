import type { Clock } from '../core/clock.ts'
import type { SessionSummary } from '../core/store.ts'
import { sleep } from '../core/waiting.ts'

interface QuarantineOptions {
  readonly clock: Clock
  /** Called when the worker may claim jobs again. */
  readonly onChange: () => void
}

/** Another job of the worker. */
export interface OtherJob {
  readonly isRunning: boolean
  readonly done: Promise<void>
  leave(): void
}

/** Aboard so many processes that died, without progress since, a session is a suspect. */
const maxDeaths = 2
/** So often a suspect is left to a worker that has nothing else to do. */
const maxTries = 3
/** How long the other runs of a worker may go on before they are left to other workers. */
const graceMs = 10_000

/**
 * Lets a session that may have killed its process run alone, until it makes progress. If the process dies again, the session
 * is known to be the cause, and only such deaths count towards parking it.
 */
export class Quarantine {
  readonly #options: QuarantineOptions
  readonly #tries = new Map<string, number>()
  #alone: string | undefined

  constructor(options: QuarantineOptions) {
    this.#options = options
  }

  /** The session that runs alone, or is about to. Nothing else may be claimed meanwhile. */
  get alone(): string | undefined {
    return this.#alone
  }

  /** Whether a session may run now; else it is looked at again later, perhaps by another worker. */
  async admit(summary: SessionSummary, others: () => readonly OtherJob[]): Promise<boolean> {
    const { id, suspicions = 0, attention } = summary
    if (this.#alone !== undefined) return false
    const deaths = suspicions + (attention === 'owner_died' ? 1 : 0) // the last one is not in its log yet
    if (suspicions === 0 || deaths < maxDeaths) return true
    const tries = this.#tries.get(id) ?? 0
    if (others().some(({ isRunning }) => isRunning) && tries < maxTries) {
      this.#tries.set(id, tries + 1)
      return false
    }
    this.#alone = id
    this.#tries.delete(id)
    await this.#makeRoom(others)
    return true
  }

  /** The session made progress, or its job is over. */
  leave(sessionId: string): void {
    if (this.#alone !== sessionId) return
    this.#alone = undefined
    this.#options.onChange()
  }

  async #makeRoom(others: () => readonly OtherJob[]): Promise<void> {
    const runs = others()
    if (runs.length === 0) return
    const enough = new AbortController()
    const allDone = Promise.all(runs.map(({ done }) => done))
    await Promise.race([allDone, sleep(graceMs, { clock: this.#options.clock, signals: [enough.signal] })])
    enough.abort()
    for (const run of others()) run.leave()
    await allDone
  }
}
