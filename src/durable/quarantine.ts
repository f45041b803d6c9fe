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
  /** Work such as a delivery to a webhook, which a suspect waits for only as long as the others get to end. */
  readonly isShort?: boolean
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
/**
 * How long the other runs of a worker may go on before they are left to other workers: enough for those that are about to end.
 * The worker claims nothing meanwhile, and the suspect, innocent in most cases, waits. Runs that are left go on elsewhere after
 * 0.2 s; what is lost is the reply that their model was writing, which few would finish in any time that a suspect could wait.
 * For the same reason no suspect is sent round to find a worker without runs: each worker would refuse it for itself.
 */
const graceMs = 500
/** How long they may take to end then. If one does not, such as a tool that ignores its cancellation, the suspect waits. */
const leaveMs = 5000
/** After that a worker with runs admits no suspect for a while, and so does not empty itself again and again. */
const restMs = 30_000
/**
 * How long a suspect waits at most for work that cannot be left, of which a worker may always have some: then it runs beside it.
 * Twice as long after each further death, so that one that does end its processes ends ever fewer.
 */
const maxRefusalMs = 60_000
/** Then they begin one after the other: those that do no harm get on before the next one that may. */
const apartMs = 5000
/** The maximum number of suspects of which it is remembered since when they wait. */
const maxSuspects = 1000

/**
 * Lets a session that may have killed its process run alone, until it makes progress. If the process dies again, the session
 * is known to be the cause, and only such deaths count towards parking it.
 */
export class Quarantine {
  readonly #options: QuarantineOptions
  /** When suspects were first refused because of work that cannot be left. */
  readonly #refusedAt = new Map<string, number>()
  #alone: string | undefined
  #restsUntil = 0
  /** When the next suspect may run beside work that cannot be left. */
  #nextBesideAt = 0

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
    const running = others().filter(({ isRunning }) => isRunning)
    if (running.some(({ canLeave }) => !canLeave)) return this.#hasWaitedLong(id, deaths - maxDeaths)
    const { clock } = this.#options
    if (running.length > 0 && clock.now() < this.#restsUntil) return false
    this.#alone = id
    const hasRoom = await this.#makeRoom(others)
    if (hasRoom) return true
    this.#restsUntil = clock.now() + restMs
    this.leave(id)
    return false
  }

  /** The session made progress, or its job is over. */
  leave(sessionId: string): void {
    if (this.#alone !== sessionId) return
    this.#alone = undefined
    this.#options.onChange()
  }

  #hasWaitedLong(id: string, furtherDeaths: number): boolean {
    const now = this.#options.clock.now()
    const since = this.#refusedAt.get(id) ?? now
    const isLong = now >= this.#nextBesideAt && now - since >= maxRefusalMs * 2 ** furtherDeaths
    if (this.#refusedAt.size >= maxSuspects) this.#refusedAt.clear()
    if (!isLong) this.#refusedAt.set(id, since)
    else {
      this.#refusedAt.delete(id)
      this.#nextBesideAt = now + apartMs
    }
    return isLong
  }

  async #makeRoom(others: () => readonly OtherJob[]): Promise<boolean> {
    const { clock } = this.#options
    const allDone = (ms: number, jobs: readonly OtherJob[]): Promise<boolean> =>
      within(
        ms,
        Promise.all(jobs.map(({ done }) => done)).then(() => true),
        () => false,
        clock,
      )
    if (await allDone(graceMs, others())) return true
    const long = others().filter(({ isShort }) => !isShort)
    for (const run of long) run.leave()
    return allDone(leaveMs, long)
  }
}
