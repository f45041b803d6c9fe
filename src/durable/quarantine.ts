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
  /** Ends soon, such as a delivery to a webhook. It is never left; if it outlasts the grace period, the suspect runs beside it. */
  readonly isShort?: boolean
  /** Whether another worker can continue it. False for work that is no run of a session, such as that of a workflow's agent. */
  readonly canLeave: boolean
  readonly done: Promise<void>
  leave(): void
}

/**
 * Finds the session that ends the process of its worker. When a process dies, each session that it ran may be the cause. A
 * session to which this happens again and again is a suspect, and runs alone in its worker until it makes progress. If the
 * process dies then too, the session is the cause; only such deaths count towards parking it.
 */
export class Quarantine {
  readonly #options: QuarantineOptions
  #alone: string | undefined
  /** Until then, a worker with other runs admits no suspect. */
  #pausedUntil = 0
  /** When each suspect was first refused because of work that cannot be left. */
  readonly #refusedSince = new Map<string, number>()
  /** When the next suspect may run beside work that cannot be left. */
  #nextBesideAt = 0

  constructor(options: QuarantineOptions) {
    this.#options = options
  }

  /** The suspect that runs alone, or is about to. Nothing else may be claimed meanwhile. */
  get alone(): string | undefined {
    return this.#alone
  }

  /**
   * Whether a session may run now. A suspect may once the other jobs have ended or were left. If it may not, it stays in the
   * queue, and this worker or another one claims it again later.
   */
  async admit(summary: SessionSummary, others: () => readonly OtherJob[]): Promise<boolean> {
    const { id, suspicions = 0, attention } = summary
    if (this.#alone !== undefined) return false
    const deaths = suspicions + (attention === 'owner_died' ? 1 : 0) // the last one is not in its log yet
    if (deaths < deathsOfSuspect) return true
    const running = others().filter(({ isRunning }) => isRunning)
    if (running.some(({ canLeave }) => !canLeave)) return this.#hasWaitedLongEnough(id, deaths - deathsOfSuspect)
    const { clock } = this.#options
    if (running.length > 0 && clock.now() < this.#pausedUntil) return false
    this.#alone = id
    if (await this.#endOthers(others)) return true
    this.#pausedUntil = clock.now() + pauseMs
    this.leave(id)
    return false
  }

  /** Called when a session made progress, or its job is over: a suspect then no longer needs to be alone. */
  leave(sessionId: string): void {
    if (this.#alone !== sessionId) return
    this.#alone = undefined
    this.#options.onChange()
  }

  /** Waits for the other jobs, then leaves those that can be left to other workers. Returns whether the suspect may run. */
  async #endOthers(others: () => readonly OtherJob[]): Promise<boolean> {
    if (await this.#haveEnded(others(), graceMs)) return true
    const long = others().filter(({ isShort }) => !isShort)
    for (const job of long) job.leave()
    return this.#haveEnded(long, leaveMs)
  }

  #haveEnded(jobs: readonly OtherJob[], limitMs: number): Promise<boolean> {
    const allDone = Promise.all(jobs.map(({ done }) => done)).then(() => true)
    return within(limitMs, allDone, () => false, this.#options.clock)
  }

  /**
   * Some workers always have work that cannot be left. There, a suspect that has waited long enough runs beside it: one after
   * the other, so that those that do no harm make progress before the next one that may.
   */
  #hasWaitedLongEnough(id: string, furtherDeaths: number): boolean {
    const now = this.#options.clock.now()
    const since = this.#refusedSince.get(id) ?? now
    const mayBegin = now >= this.#nextBesideAt && now - since >= maxRefusalMs * 2 ** furtherDeaths
    if (this.#refusedSince.size >= maxRemembered) this.#refusedSince.clear()
    if (!mayBegin) {
      this.#refusedSince.set(id, since)
      return false
    }
    this.#refusedSince.delete(id)
    this.#nextBesideAt = now + apartMs
    return true
  }
}

/** A session is a suspect after this many deaths of a process without progress in between. Progress clears it, so few innocent sessions become suspects. */
const deathsOfSuspect = 3
/**
 * How long the other runs may go on before they are left: enough for those that are about to end. The worker claims nothing
 * meanwhile, and the suspect, innocent in most cases, waits. A run that is left goes on elsewhere after 0.2 s. It loses only the
 * reply that its model was writing, which few runs would finish in any time that a suspect could wait. For the same reason no
 * suspect is passed on to a worker without runs: each worker would pass it on.
 */
const graceMs = 500
/** How long the runs that are left may take to end. A tool that ignores its cancellation may keep one going; then the suspect is refused. */
const leaveMs = 5000
/** The time after such a refusal in which a worker with runs admits no suspect, so that it does not leave its runs again and again. */
const pauseMs = 30_000
/** Doubles with each further death, so that a suspect that does end its processes ends ever fewer. */
const maxRefusalMs = 60_000
/** The time between suspects that begin beside such work. */
const apartMs = 5000
/** How many suspects `#refusedSince` has at most. */
const maxRemembered = 1000
