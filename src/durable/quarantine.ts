import type { Clock } from '../core/clock.ts'
import type { SessionSummary } from '../core/store.ts'
import { within } from '../core/waiting.ts'

interface QuarantineOptions {
  readonly clock: Clock
  /** Called when the worker may claim jobs again. */
  readonly onChange: () => void
}

/** Another job of the worker. */
export interface OtherJob {
  readonly isRunning: boolean
  /** False for work that is no run of a session, such as that of a workflow's agent. */
  readonly canLeave: boolean
  readonly done: Promise<void>
  leave(): void
}

/**
 * A session is a suspect after this many crashes that it shared with other sessions, without making progress. (Progress
 * clears it, so few innocent sessions become suspects.) Suspects wait until they can run alone.
 */
const maxDeaths = 3
/** How many times a suspect is left to an idle worker first. */
const maxTries = 2
/** How long the other runs of a worker may go on before they are left to other workers: it claims nothing meanwhile. */
const graceMs = 3000
/** How long they may take to end then. If one does not, such as a tool that ignores its cancellation, the suspect waits. */
const leaveMs = 5000
/** The maximum number of suspects whose tries are kept. */
const maxSuspects = 1000

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
    if (deaths < maxDeaths) return true
    const tries = this.#tries.get(id) ?? 0
    const running = others().filter(({ isRunning }) => isRunning)
    if (running.some(({ canLeave }) => !canLeave)) return false
    if (running.length > 0 && tries < maxTries) {
      if (this.#tries.size >= maxSuspects) this.#tries.clear()
      this.#tries.set(id, tries + 1)
      return false
    }
    this.#alone = id
    this.#tries.delete(id)
    const hasRoom = await this.#makeRoom(others)
    if (!hasRoom) this.leave(id)
    return hasRoom
  }

  /** The session made progress, or its job is over. */
  leave(sessionId: string): void {
    if (this.#alone !== sessionId) return
    this.#alone = undefined
    this.#options.onChange()
  }

  async #makeRoom(others: () => readonly OtherJob[]): Promise<boolean> {
    const { clock } = this.#options
    const allDone = Promise.all(others().map(({ done }) => done)).then(() => true)
    if (await within(graceMs, allDone, () => false, clock)) return true
    for (const run of others()) run.leave()
    return within(leaveMs, allDone, () => false, clock)
  }
}
