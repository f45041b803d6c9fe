import { show } from '../../core/behavior.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { LeaseLostError, SessionBusyError } from '../../core/errors.ts'
import type { SessionStore } from '../../core/store.ts'
import { defaultGraceMs } from './next-due.ts'
import { openScheduleLog, type ScheduleLog, ScheduleReader } from './schedule-log.ts'
import { ScheduleOwner, type Wake } from './schedule-owner.ts'

export interface SchedulerOptions {
  readonly store: SessionStore
  readonly wake: Wake
  readonly clock?: Clock
  /** Called with errors. A schedule that failed is tried again in any case. Default: the console. */
  readonly onError?: (error: unknown, details: { readonly scheduleId?: string }) => void
  /** How often a scheduler tries to become the owner, and how often at least the owner checks the clock. Default 10,000. */
  readonly pollMs?: number
  /** How long an owner that does not renew its lease stays the owner. Default 30,000. */
  readonly leaseMs?: number
  /** How late a repeating schedule may fire. Default 60,000, enough for another owner to take over. */
  readonly graceMs?: number
}

export interface Scheduler {
  /** Resolves after the first attempt to become the owner; further attempts follow until one succeeds. */
  start(): Promise<void>
  /** Resolves when no wake is under way any more and others may take over. */
  stop(): Promise<void>
  /** Whether this scheduler fires the schedules. */
  readonly isOwner: boolean
}

/**
 * Fires the schedules of a store. Any number may run over one store: one of them owns the schedules and fires; when it
 * ends or does not renew its lease, another takes over. Each run has its own key, by which a repetition after a crash is
 * recognised.
 */
export function createScheduler(options: SchedulerOptions): Scheduler {
  checkOptions(options)
  const { store, wake, clock = systemClock, onError = logError } = options
  const { pollMs = 10_000, leaseMs = 30_000, graceMs = defaultGraceMs } = options
  const reader = new ScheduleReader(store)
  let log: ScheduleLog | undefined
  let ownership: ScheduleOwner | undefined
  let isStarted = false
  let trying: Promise<void> | undefined
  let stopWaiting: (() => void) | undefined

  function report(error: unknown, details: { readonly scheduleId?: string } = {}): void {
    try {
      onError(error, details)
    } catch (worse) {
      logError(worse, details)
    }
  }

  async function tryToOwn(): Promise<void> {
    try {
      log = await openScheduleLog({ store, reader, clock, leaseMs })
      if (!isStarted) return await letGo()
      const owner = new ScheduleOwner({ log, reader, wake, clock, report, pollMs, leaseMs, graceMs, onEnd })
      await owner.start()
      ownership = owner
    } catch (error) {
      // A busy session means that another scheduler is the owner.
      if (!(error instanceof SessionBusyError)) report(error)
      await letGo()
    }
    if (isStarted && !ownership) tryLater()
  }

  function tryNow(): Promise<void> {
    trying ??= tryToOwn().finally(() => {
      trying = undefined
    })
    return trying
  }

  function tryLater(): void {
    stopWaiting?.()
    stopWaiting = clock.timer(pollMs, () => void tryNow())
  }

  async function letGo(): Promise<void> {
    const held = log
    log = undefined
    await held?.release().catch(report)
  }

  /** The lease is lost, or the store can no longer be written. */
  function onEnd(error: unknown): void {
    ownership = undefined
    if (!(error instanceof LeaseLostError)) report(error)
    void letGo().then(() => {
      if (isStarted) tryLater()
    })
  }

  return {
    get isOwner() {
      return ownership !== undefined
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
      const ending = ownership
      ownership = undefined
      await ending?.stop()
      await letGo()
    },
  }
}

function logError(error: unknown, { scheduleId }: { readonly scheduleId?: string }): void {
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
