import { show } from '../../core/behavior.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { LeaseLostError, SessionBusyError } from '../../core/errors.ts'
import type { SessionStore } from '../../core/store.ts'
import { defaultGraceMs } from './next-due.ts'
import { type OwnerShift, startShift, type Wake } from './owner-shift.ts'
import { openScheduleLog, type ScheduleLog } from './schedule-log.ts'
import { ScheduleReader } from './schedule-reader.ts'

export interface SchedulerOptions {
  readonly store: SessionStore
  readonly wake: Wake
  readonly clock?: Clock
  /** Told of what went wrong. A schedule that failed is tried again whatever this does. Default: the console. */
  readonly onError?: (error: unknown, about: { readonly scheduleId?: string }) => void
  /** Called when it follows another owner, which may have died over what it had begun. */
  readonly onTakeOver?: () => void
  /** How often who does not own the schedules tries to, and who does looks at the clock at least. Default 10,000. */
  readonly pollMs?: number
  /** How long an owner that went silent stays the owner. Default 30,000. */
  readonly leaseMs?: number
  /** How late a repeating schedule may still be. Default 60,000, which is time enough for another owner to take over. */
  readonly graceMs?: number
}

export interface Scheduler {
  /** Resolves when it has tried for the first time; who is not the owner then tries again and again. */
  start(): Promise<void>
  /** Resolves when nothing is being sent any more and others may take over. */
  stop(): Promise<void>
  /** Whether it is the one that fires. */
  readonly isOwner: boolean
}

/**
 * Fires the schedules of a store. Any number may run over one store: one of them owns the schedules and fires, and when
 * it ends or goes silent, another takes over. Each run is sent under a key of its own, so that one that is sent again
 * after a crash is known.
 */
export function createScheduler(options: SchedulerOptions): Scheduler {
  checkOptions(options)
  const { store, wake, clock = systemClock, onError = complain, onTakeOver } = options
  const { pollMs = 10_000, leaseMs = 30_000, graceMs = defaultGraceMs } = options
  const reader = new ScheduleReader(store)
  let log: ScheduleLog | undefined
  let shift: OwnerShift | undefined
  let isStarted = false
  let trying: Promise<void> | undefined
  let stopWaiting: (() => void) | undefined

  function report(error: unknown, about: { readonly scheduleId?: string } = {}): void {
    try {
      onError(error, about)
    } catch (worse) {
      complain(worse, about)
    }
  }

  async function tryToOwn(): Promise<void> {
    try {
      log = await openScheduleLog({ store, reader, clock, leaseMs })
      if (!isStarted) return await letGo()
      shift = await startShift({ log, reader, wake, clock, report, pollMs, leaseMs, graceMs, onEnd })
    } catch (error) {
      // Somebody else is at it: nothing is wrong.
      if (!(error instanceof SessionBusyError)) report(error)
      await letGo()
    }
    if (isStarted && !shift) tryLater()
  }

  function tryNow(): Promise<void> {
    trying ??= tryToOwn().finally(() => {
      trying = undefined
    })
    return trying
  }

  function tryLater(): void {
    stopWaiting?.()
    stopWaiting = clock.timer(pollMs, () => void tryAgain())
  }

  async function tryAgain(): Promise<void> {
    await tryNow()
    if (shift) onTakeOver?.()
  }

  async function letGo(): Promise<void> {
    const held = log
    log = undefined
    await held?.release().catch(report)
  }

  /** The right to fire is gone, or the store no longer takes what is written. */
  function onEnd(error: unknown): void {
    shift = undefined
    if (!(error instanceof LeaseLostError)) report(error)
    void letGo().then(() => {
      if (isStarted) tryLater()
    })
  }

  return {
    get isOwner() {
      return shift !== undefined
    },

    async start() {
      if (isStarted) return trying
      isStarted = true
      await trying
      await tryNow()
    },

    async stop() {
      isStarted = false
      stopWaiting?.()
      await trying
      const ending = shift
      shift = undefined
      await ending?.stop()
      await letGo()
    },
  }
}

function complain(error: unknown, { scheduleId }: { readonly scheduleId?: string }): void {
  console.error(`libero: ${scheduleId === undefined ? 'the scheduler' : `schedule ${show(scheduleId)}`} failed:`, error)
}

function checkOptions({ store, wake, pollMs = 1, leaseMs = 1, graceMs = 0 }: SchedulerOptions): void {
  if (typeof store?.lease !== 'function')
    throw new TypeError(`createScheduler needs a store such as createSqliteStore({ path }), got ${show(store)}`)
  if (typeof wake !== 'function')
    throw new TypeError(`createScheduler needs a function "wake" that tells an agent its message, got ${show(wake)}`)
  if (!(pollMs > 0)) throw new TypeError(`createScheduler option "pollMs" must be more than 0, got ${show(pollMs)}`)
  if (!(leaseMs > 0 && leaseMs <= 86_400_000))
    throw new TypeError(`createScheduler option "leaseMs" must be more than 0 and at most a day, got ${show(leaseMs)}`)
  if (!(graceMs >= 0)) throw new TypeError(`createScheduler option "graceMs" must be 0 or more, got ${show(graceMs)}`)
}
