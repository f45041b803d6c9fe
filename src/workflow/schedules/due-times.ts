import { loadCron, type NextCron } from './cron.ts'
import { nextDue } from './next-due.ts'
import type { ScheduleRecord } from './schedule-ledger.ts'

const firstRetryMs = 1000
const longestRetryMs = 5 * 60_000

interface DueTimesOptions {
  readonly graceMs: number
  readonly report: (error: unknown, details?: { readonly scheduleId?: string }) => void
}

/** When schedules are due. Computes each time once, and again after its schedule or the clock has changed. */
export class DueTimes {
  readonly #options: DueTimesOptions
  readonly #times = new Map<string, number | undefined>()
  readonly #retries = new Map<string, Retry>()
  #cron: NextCron | undefined
  #hasTriedCron = false
  #lastNow = Number.NEGATIVE_INFINITY

  constructor(options: DueTimesOptions) {
    this.#options = options
  }

  /** Loads the package for cron expressions with the first schedule that needs it. */
  async prepare(records: Iterable<ScheduleRecord>): Promise<void> {
    if (this.#hasTriedCron || ![...records].some(({ schedule }) => schedule.when.type === 'cron')) return
    this.#hasTriedCron = true
    this.#cron = await loadCron().catch((error) => {
      this.#options.report(error)
      return undefined
    })
  }

  /** A time in the past means now, undefined never. */
  dueAt(record: ScheduleRecord, now: number): number | undefined {
    const { id } = record.schedule
    if (now < this.#lastNow) this.clear() // computed by a clock that was set back since
    this.#lastNow = now
    const retry = this.#retries.get(id)
    if (retry) return retry.at - now > longestRetryMs ? now : retry.at // the clock was set back
    const known = this.#times.get(id)
    if (this.#times.has(id) && (known === undefined || known > now)) return known
    const due = this.#compute(record, now)
    this.#times.set(id, due)
    return due
  }

  #compute(record: ScheduleRecord, now: number): number | undefined {
    const { id, when } = record.schedule
    if (when.type === 'cron' && !this.#cron) return undefined // reported when it could not be loaded
    try {
      return nextDue(record.schedule, record, now, { cron: this.#cron, graceMs: this.#options.graceMs })
    } catch (error) {
      this.#options.report(error, { scheduleId: id })
      return undefined
    }
  }

  /** The time that a failed wake was for, if this is its retry. */
  retryOf(id: string): number | undefined {
    return this.#retries.get(id)?.dueAt
  }

  retryLater(id: string, dueAt: number, now: number): void {
    const tries = (this.#retries.get(id)?.tries ?? 0) + 1
    const wait = Math.min(longestRetryMs, firstRetryMs * 2 ** (tries - 1))
    this.#retries.set(id, { dueAt, tries, at: now + wait })
  }

  endRetry(id: string): void {
    this.#retries.delete(id)
  }

  /** Forgets the time of one schedule. */
  invalidate(id: string): void {
    this.#times.delete(id)
  }

  /** Forgets all times. */
  clear(): void {
    this.#times.clear()
  }
}

interface Retry {
  readonly dueAt: number
  readonly tries: number
  /** When it is tried again. */
  readonly at: number
}
