import type { Clock } from '../../core/clock.ts'
import type { EntryBody } from '../../core/log.ts'
import { loadCron, type NextCron } from './cron.ts'
import { nextDue } from './next-due.ts'
import { stateOwner } from './schedule-change.ts'
import { checkpointEntry, checkpointEvery, leastCheckpoint } from './schedule-checkpoint.ts'
import type { KeptSchedule } from './schedule-ledger.ts'
import type { ScheduleLog } from './schedule-log.ts'
import type { ScheduleReader } from './schedule-reader.ts'
import { wakeKey } from './wake-key.ts'

/**
 * Tells an agent its message, and resolves once that cannot be lost. The same `clientKey` again must change nothing.
 * `closed`: there is no such agent any more, and the schedule goes too. `skipped`: it was not told, as it has not heard
 * an earlier one yet; that is no run, and there is a next time. A rejection is tried again.
 */
export type Wake = (call: WakeCall) => Promise<WakeOutcome> | WakeOutcome

type WakeOutcome = 'closed' | 'skipped' | void

export interface WakeCall {
  readonly agentId: string
  readonly scheduleId: string
  /** When it should have been; what is late has a time in the past here. */
  readonly dueAt: number
  readonly clientKey: string
  readonly message: string
  /** Whether there are more of it to come. */
  readonly isRepeating: boolean
}

export interface ShiftOptions {
  /** Open for writing. */
  readonly log: ScheduleLog
  readonly reader: ScheduleReader
  readonly wake: Wake
  readonly clock: Clock
  readonly report: (error: unknown, about?: { readonly scheduleId?: string }) => void
  readonly pollMs: number
  readonly leaseMs: number
  readonly graceMs: number
  /** Called once, when the shift is over before its time. */
  readonly onEnd: (error: unknown) => void
}

export interface OwnerShift {
  /** Fires nothing any more; resolves when what is being sent is. */
  stop(): Promise<void>
}

const longestTimer = 2 ** 31 - 1
const firstRetryMs = 1000
const longestRetryMs = 5 * 60_000
/** How long the end of a shift waits for messages on their way. */
const patienceMs = 5000

/** The time during which one scheduler owns the schedules: it lets changes in, and fires what falls due. */
export async function startShift(options: ShiftOptions): Promise<OwnerShift> {
  const { log, reader, wake, clock, report, pollMs, leaseMs, graceMs, onEnd } = options
  const over = new AbortController()
  /** When each schedule is due, as far as that was worked out. */
  const dues = new Map<string, number | undefined>()
  const retries = new Map<string, Retry>()
  const firing = new Map<string, Promise<void>>()
  let cron: NextCron | undefined
  let hasTriedCron = false
  let callOff: (() => void) | undefined
  let stopListening: (() => void) | undefined
  let isClosing = false

  function close(): void {
    isClosing = true
    over.abort()
    callOff?.()
    stopListening?.()
    unsubscribe()
  }

  function end(error: unknown): void {
    if (over.signal.aborted) return
    close()
    onEnd(error)
  }

  const unsubscribe = log.subscribe((entry) => {
    if (entry.seq > reader.head + 1) return void readAgain()
    const id = reader.take(entry)
    void writeCheckpoint()
    if (id === undefined) return
    dues.delete(id)
    if (entry.type === 'input') retries.delete(id) // it is another one now
    void lookAgain()
  })

  async function readAgain(): Promise<void> {
    await reader.catchUp().catch(end)
    dues.clear()
    await lookAgain()
  }

  /** Changes come in by the dozen; one look is enough for those that came together. */
  let isLookPlanned = false
  async function lookAgain(): Promise<void> {
    if (isLookPlanned || isClosing) return
    isLookPlanned = true
    await getCron()
    isLookPlanned = false
    look()
  }

  async function getCron(): Promise<void> {
    if (hasTriedCron || !some(reader.ledger.kept, ({ schedule }) => schedule.when.type === 'cron')) return
    hasTriedCron = true
    cron = await loadCron().catch((error) => {
      report(error)
      return undefined
    })
  }

  function dueOf(id: string, kept: KeptSchedule, now: number): number | undefined {
    const retry = retries.get(id)
    if (retry) return retry.at - now > longestRetryMs ? now : retry.at // the clock was set back
    const known = dues.get(id)
    if (dues.has(id) && (known === undefined || known > now)) return known
    const due = workOut(id, kept, now)
    dues.set(id, due)
    return due
  }

  function workOut(id: string, kept: KeptSchedule, now: number): number | undefined {
    if (kept.schedule.when.type === 'cron' && !cron) return undefined // reported when it was not found
    try {
      return nextDue(kept.schedule, kept, now, { cron, graceMs })
    } catch (error) {
      report(error, { scheduleId: id })
      return undefined
    }
  }

  /** Fires all that is due, and sets the one timer for what will be. */
  let lastLook = Number.NEGATIVE_INFINITY
  function look(): void {
    if (isClosing) return
    const now = clock.now()
    if (now < lastLook) dues.clear() // worked out by a clock that has been set back since
    lastLook = now
    let earliest = Number.POSITIVE_INFINITY
    for (const [id, kept] of reader.ledger.kept) {
      if (firing.has(id)) continue
      const due = dueOf(id, kept, now)
      if (due === undefined) continue
      if (due > now) earliest = Math.min(earliest, due)
      else firing.set(id, fire(kept, retries.get(id)?.dueAt ?? due))
    }
    callOff?.()
    if (earliest === Number.POSITIVE_INFINITY) return
    // Not longer than that: a machine that sleeps stops its timers, but not its clock.
    const at = Math.min(earliest, now + Math.min(pollMs, longestTimer))
    callOff = clock.timer(at - now, () => void comeBack(at))
  }

  /** Who comes back far too late may have lost the schedules without having heard of it, and finds out by writing. */
  async function comeBack(planned: number): Promise<void> {
    if (clock.now() - planned > leaseMs / 2) await write({ type: 'state', owner: 'schedules', value: clock.now() })
    look()
  }

  async function fire(kept: KeptSchedule, dueAt: number): Promise<void> {
    const { id, agentId, message } = kept.schedule
    const clientKey = wakeKey(id, dueAt)
    try {
      await null // so that all that is due is known to be firing before the first of them ends
      if (countsRuns(kept) && kept.firing !== dueAt) {
        await write({ type: 'state', owner: stateOwner(id), value: { of: kept.madeBy, firing: dueAt } })
        if (over.signal.aborted) return
      }
      const outcome = await wake({ agentId, scheduleId: id, dueAt, clientKey, message, isRepeating: isRepeating(kept) })
      retries.delete(id)
      await note(kept, dueAt, outcome)
    } catch (error) {
      tryLater(kept, dueAt, error)
    }
    firing.delete(id)
    dues.delete(id)
    void lookAgain()
  }

  /** What it was told is written down after it was told: a crash between the two tells it again, under the same key. */
  async function note({ schedule, madeBy }: KeptSchedule, lastRunAt: number, outcome: WakeOutcome): Promise<void> {
    const now = reader.ledger.kept.get(schedule.id)
    if (!now || now.madeBy !== madeBy) return // removed or replaced meanwhile
    const isSkipped = outcome === 'skipped'
    const isOver = outcome === 'closed' || (now.schedule.deleteAfterRun === true && !isSkipped)
    const value = { of: madeBy, runs: isSkipped ? now.runs : now.runs + 1, lastRunAt, ...(isOver && { isOver }) }
    await write({ type: 'state', owner: stateOwner(schedule.id), value })
  }

  /** So that who starts later need not read all that was ever written. */
  let isWritingCheckpoint = false
  let checkpointAfter = leastCheckpoint
  async function writeCheckpoint(): Promise<void> {
    const { head, checkpoint, ledger } = reader
    if (isWritingCheckpoint || isClosing || head - checkpoint < checkpointAfter) return
    const kept = [...ledger.kept.values()]
    checkpointAfter = checkpointEvery(kept)
    if (head - checkpoint < checkpointAfter) return
    isWritingCheckpoint = true
    await write(checkpointEntry({ upTo: head, kept }))
    isWritingCheckpoint = false
  }

  async function write(entry: EntryBody): Promise<void> {
    if (over.signal.aborted) return
    try {
      await log.append(entry)
    } catch (error) {
      end(error)
    }
  }

  function tryLater({ schedule: { id }, madeBy, since }: KeptSchedule, dueAt: number, error: unknown): void {
    report(error, { scheduleId: id })
    const now = reader.ledger.kept.get(id)
    if (now?.madeBy !== madeBy || now.since !== since) return // its times are others now
    const tries = (retries.get(id)?.tries ?? 0) + 1
    const wait = Math.min(longestRetryMs, firstRetryMs * 2 ** (tries - 1))
    retries.set(id, { dueAt, tries, at: clock.now() + wait })
  }

  /** Moves changes that others sent into the log. A store that fails may be able to later. */
  async function listen(): Promise<void> {
    if (over.signal.aborted) return
    try {
      await log.listen(over.signal, end)
    } catch (error) {
      if (over.signal.aborted) return
      if (log.isBroken) return end(error)
      report(error)
      stopListening = clock.timer(pollMs, () => void listen())
    }
  }

  try {
    await reader.catchUp()
  } catch (error) {
    close()
    throw error
  }
  await getCron()
  void listen()
  look()
  void writeCheckpoint()

  return {
    async stop() {
      isClosing = true
      callOff?.()
      // What is being sent is still written down, as the right to write is given back after this.
      await atMost(Promise.all(firing.values()), patienceMs, clock)
      close()
    },
  }
}

interface Retry {
  readonly dueAt: number
  readonly tries: number
  /** When it is tried again. */
  readonly at: number
}

/** One run too many would be noticed; and each time that is made sure costs an entry. */
function countsRuns(kept: KeptSchedule): boolean {
  const { maxRuns, deleteAfterRun } = kept.schedule
  return isRepeating(kept) && (maxRuns !== undefined || deleteAfterRun === true)
}

function isRepeating({ schedule: { when } }: KeptSchedule): boolean {
  return when.type !== 'at' || when.repeatEveryMinutes !== undefined
}

function some<T>(map: ReadonlyMap<string, T>, test: (value: T) => boolean): boolean {
  for (const value of map.values()) if (test(value)) return true
  return false
}

async function atMost(work: Promise<unknown>, ms: number, clock: Clock): Promise<void> {
  let callOff: (() => void) | undefined
  const timeUp = new Promise<void>((done) => {
    callOff = clock.timer(ms, done)
  })
  await Promise.race([work, timeUp])
  callOff?.()
}
