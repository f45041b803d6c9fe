import type { Clock } from '../../core/clock.ts'
import type { EntryBody, LogEntry } from '../../core/log.ts'
import { within } from '../../core/waiting.ts'
import { DueTimes } from './due-times.ts'
import {
  checkpointEntry,
  checkpointEvery,
  leastCheckpoint,
  type ScheduleRecord,
  stateOwner,
} from './schedule-ledger.ts'
import type { ScheduleLog, ScheduleReader } from './schedule-log.ts'

/**
 * Sends an agent its message, and resolves once the message cannot be lost. The same `clientKey` again must change
 * nothing. `closed`: the agent does not exist any more, and the schedule is removed. `skipped`: nothing was sent, as an
 * earlier message of the schedule still waits; this does not count as a run. A rejection is tried again.
 */
export type Wake = (call: WakeCall) => Promise<WakeOutcome> | WakeOutcome

type WakeOutcome = 'closed' | 'skipped' | void

export interface WakeCall {
  readonly agentId: string
  readonly scheduleId: string
  /** When it was due, which may be in the past. */
  readonly dueAt: number
  readonly clientKey: string
  readonly message: string
  /** Whether the schedule has later times. */
  readonly isRepeating: boolean
}

interface ScheduleOwnerOptions {
  /** With the lease. */
  readonly log: ScheduleLog
  readonly reader: ScheduleReader
  readonly wake: Wake
  readonly clock: Clock
  readonly report: (error: unknown, details?: { readonly scheduleId?: string }) => void
  readonly pollMs: number
  readonly leaseMs: number
  readonly graceMs: number
  /** Called once, when the ownership ends by an error. */
  readonly onEnd: (error: unknown) => void
}

const longestTimer = 2 ** 31 - 1
/** How long `stop` waits for wakes under way. */
const stopTimeoutMs = 5000

/** Owns the schedules while its scheduler has the lease of their log: moves changes into the log, and wakes agents. */
export class ScheduleOwner {
  readonly #options: ScheduleOwnerOptions
  readonly #dueTimes: DueTimes
  /** The wakes under way, by schedule. */
  readonly #firing = new Map<string, Promise<void>>()
  readonly #ended = new AbortController()
  readonly #unsubscribe: () => void
  #isStopping = false
  #cancelTimer: (() => void) | undefined
  #cancelListenTimer: (() => void) | undefined
  #isFirePlanned = false
  #isWritingCheckpoint = false
  #checkpointAfter = leastCheckpoint

  constructor(options: ScheduleOwnerOptions) {
    this.#options = options
    this.#dueTimes = new DueTimes(options)
    this.#unsubscribe = options.log.subscribe((entry) => this.#apply(entry))
  }

  async start(): Promise<void> {
    const { reader } = this.#options
    try {
      await reader.catchUp()
    } catch (error) {
      this.#close()
      throw error
    }
    await this.#dueTimes.prepare(reader.ledger.schedules.values())
    void this.#listen()
    this.#fireDue()
    void this.#writeCheckpoint()
  }

  /** Fires nothing more. Resolves when the wakes under way are done and logged. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#cancelTimer?.()
    await within(stopTimeoutMs, Promise.all(this.#firing.values()), () => {}, this.#options.clock)
    this.#close()
  }

  #close(): void {
    this.#isStopping = true
    this.#ended.abort()
    this.#cancelTimer?.()
    this.#cancelListenTimer?.()
    this.#unsubscribe()
  }

  #end(error: unknown): void {
    if (this.#ended.signal.aborted) return
    this.#close()
    this.#options.onEnd(error)
  }

  /** Moves changes that others sent into the log. A store that fails is tried again. */
  async #listen(): Promise<void> {
    const { log, report, clock, pollMs } = this.#options
    if (this.#ended.signal.aborted) return
    try {
      await log.listen(this.#ended.signal, (error) => this.#end(error))
    } catch (error) {
      if (this.#ended.signal.aborted) return
      if (log.isBroken) return this.#end(error)
      report(error)
      this.#cancelListenTimer = clock.timer(pollMs, () => void this.#listen())
    }
  }

  #apply(entry: LogEntry): void {
    const { reader } = this.#options
    if (entry.seq > reader.head + 1) return void this.#readAgain()
    const id = reader.take(entry)
    void this.#writeCheckpoint()
    if (id === undefined) return
    this.#dueTimes.invalidate(id)
    if (entry.type === 'input') this.#dueTimes.endRetry(id) // the schedule was changed
    void this.#planFire()
  }

  async #readAgain(): Promise<void> {
    await this.#options.reader.catchUp().catch((error) => this.#end(error))
    this.#dueTimes.clear()
    await this.#planFire()
  }

  /** Changes that come together are followed by one `#fireDue`. */
  async #planFire(): Promise<void> {
    if (this.#isFirePlanned || this.#isStopping) return
    this.#isFirePlanned = true
    await this.#dueTimes.prepare(this.#options.reader.ledger.schedules.values())
    this.#isFirePlanned = false
    this.#fireDue()
  }

  /** Fires all schedules that are due, and sets the one timer for the next. */
  #fireDue(): void {
    if (this.#isStopping) return
    const { clock, reader, pollMs } = this.#options
    const now = clock.now()
    let earliest = Number.POSITIVE_INFINITY
    for (const [id, record] of reader.ledger.schedules) {
      if (this.#firing.has(id)) continue
      const due = this.#dueTimes.dueAt(record, now)
      if (due === undefined) continue
      if (due > now) earliest = Math.min(earliest, due)
      else this.#firing.set(id, this.#fire(record, this.#dueTimes.retryOf(id) ?? due))
    }
    this.#cancelTimer?.()
    if (earliest === Number.POSITIVE_INFINITY) return
    // At most `pollMs`: a machine that sleeps stops its timers, but not its clock.
    const at = Math.min(earliest, now + Math.min(pollMs, longestTimer))
    this.#cancelTimer = clock.timer(at - now, () => void this.#onTimer(at))
  }

  /** A timer that comes far too late may mean that the lease was lost unnoticed; a write finds out. */
  async #onTimer(planned: number): Promise<void> {
    const { clock, leaseMs } = this.#options
    if (clock.now() - planned > leaseMs / 2)
      await this.#write({ type: 'state', owner: 'schedules', value: clock.now() })
    this.#fireDue()
  }

  async #fire(record: ScheduleRecord, dueAt: number): Promise<void> {
    const { id, agentId, message } = record.schedule
    const clientKey = wakeKey(id, dueAt)
    try {
      await null // so that all due schedules are in `#firing` before the first of them ends
      if (countsRuns(record) && record.firing !== dueAt) {
        await this.#write({ type: 'state', owner: stateOwner(id), value: { of: record.madeBy, firing: dueAt } })
        if (this.#ended.signal.aborted) return
      }
      const call = { agentId, scheduleId: id, dueAt, clientKey, message, isRepeating: isRepeating(record) }
      const outcome = await this.#options.wake(call)
      this.#dueTimes.endRetry(id)
      await this.#logRun(record, dueAt, outcome)
    } catch (error) {
      this.#retryLater(record, dueAt, error)
    }
    this.#firing.delete(id)
    this.#dueTimes.invalidate(id)
    void this.#planFire()
  }

  /** The run is logged after the wake: a crash between the two wakes again, under the same key. */
  async #logRun({ schedule, madeBy }: ScheduleRecord, lastRunAt: number, outcome: WakeOutcome): Promise<void> {
    const now = this.#options.reader.ledger.schedules.get(schedule.id)
    if (!now || now.madeBy !== madeBy) return // removed or replaced meanwhile
    const isSkipped = outcome === 'skipped'
    const isOver = outcome === 'closed' || (now.schedule.deleteAfterRun === true && !isSkipped)
    const value = { of: madeBy, runs: isSkipped ? now.runs : now.runs + 1, lastRunAt, ...(isOver && { isOver }) }
    await this.#write({ type: 'state', owner: stateOwner(schedule.id), value })
  }

  #retryLater({ schedule: { id }, madeBy, since }: ScheduleRecord, dueAt: number, error: unknown): void {
    const { report, reader, clock } = this.#options
    report(error, { scheduleId: id })
    const now = reader.ledger.schedules.get(id)
    if (now?.madeBy !== madeBy || now.since !== since) return // its times were changed
    this.#dueTimes.retryLater(id, dueAt, clock.now())
  }

  /** With a checkpoint, a later reader need not read the whole log. */
  async #writeCheckpoint(): Promise<void> {
    const { head, checkpoint, ledger } = this.#options.reader
    if (this.#isWritingCheckpoint || this.#isStopping || head - checkpoint < this.#checkpointAfter) return
    const records = [...ledger.schedules.values()]
    this.#checkpointAfter = checkpointEvery(records)
    if (head - checkpoint < this.#checkpointAfter) return
    this.#isWritingCheckpoint = true
    await this.#write(checkpointEntry({ upTo: head, kept: records }))
    this.#isWritingCheckpoint = false
  }

  async #write(entry: EntryBody): Promise<void> {
    if (this.#ended.signal.aborted) return
    try {
      await this.#options.log.append(entry)
    } catch (error) {
      this.#end(error)
    }
  }
}

/** The key of a wake-up in the inbox of its agent. */
export const wakeKey = (scheduleId: string, dueAt: number): string => `schedule:${scheduleId}:${dueAt}`

/** Whether a message is a wake-up of the same schedule for another time. A key that is sent again has a suffix. */
export function isOtherWake(clientKey: string, { scheduleId, dueAt }: { scheduleId: string; dueAt: number }): boolean {
  const prefix = wakeKey(scheduleId, 0).slice(0, -1)
  const [time = ''] = clientKey.startsWith(prefix) ? clientKey.slice(prefix.length).split('~') : []
  return /^-?\d+$/.test(time) && time !== String(dueAt)
}

/** Whether each run must be logged before it starts, which costs an entry: one run too many would be noticed. */
function countsRuns(record: ScheduleRecord): boolean {
  const { maxRuns, deleteAfterRun } = record.schedule
  return isRepeating(record) && (maxRuns !== undefined || deleteAfterRun === true)
}

function isRepeating({ schedule: { when } }: ScheduleRecord): boolean {
  return when.type !== 'at' || when.repeatEveryMinutes !== undefined
}
