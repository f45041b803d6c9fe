import { type Clock, systemClock } from '../../core/clock.ts'
import { afterCommit } from '../../sessions/postgres/after-commit.ts'
import { SortedList } from '../../sessions/sorted-list.ts'
import type { Dispatcher, Job } from '../dispatcher.ts'
import { tenantLimit } from './tenant-limit.ts'

/** A claim that is not kept for so long lapses. */
const lapseMs = 10_000
const extendEveryMs = 3000

interface WaitingJob extends Job {
  /** The order of jobs that are due at the same time. */
  readonly place: number
}

interface ClaimedJob extends Job {
  /** Tells this claim from a later one of the same session. */
  readonly claim: number
}

/**
 * A dispatcher in memory, for workers in this process. It is exact: a session is claimed by one worker at a time, and no tenant
 * has more claims than its limit.
 */
export function inProcessDispatcher({ clock = systemClock }: { readonly clock?: Clock } = {}): Dispatcher {
  const waiting = new Map<string, WaitingJob>()
  const queue = new SortedList<WaitingJob>((a, b) => a.dueAt - b.dueAt || a.place - b.place)
  const claims = new Map<string, { readonly job: ClaimedJob; keptAt: number }>()
  const listeners = new Set<() => void>()
  let count = 0
  let isTelling = false
  let alarm: { readonly at: number; readonly cancel: () => void } | undefined

  function enqueue(job: Job): void {
    const { sessionId } = job
    const before = waiting.get(sessionId)
    if (before && before.dueAt <= job.dueAt) return
    if (before) queue.remove(before)
    const added: WaitingJob = { ...job, place: before?.place ?? ++count }
    waiting.set(sessionId, added)
    queue.add(added)
    if (job.dueAt <= clock.now()) tell()
    else setAlarm()
  }

  function dequeue(job: WaitingJob): void {
    waiting.delete(job.sessionId)
    queue.remove(job)
  }

  /** Calls the listeners once for all wakes of a moment. */
  function tell(): void {
    if (isTelling) return
    isTelling = true
    queueMicrotask(() => {
      isTelling = false
      for (const listener of listeners) listener()
    })
  }

  /** Sets a timer for the next job of a later time, if a listener wants to know of it. */
  function setAlarm(): void {
    const next = queue.after({ sessionId: '', kind: '', tenant: '', attempt: 0, dueAt: clock.now(), place: count + 1 })
    const at = listeners.size > 0 ? next.next().value?.dueAt : undefined
    if (at === alarm?.at) return
    alarm?.cancel()
    const ring = (): void => {
      alarm = undefined
      tell()
      setAlarm()
    }
    alarm = at === undefined ? undefined : { at, cancel: clock.timer(at - clock.now(), ring) }
  }

  /** Jobs whose worker did not keep its claim wait again, before younger ones. */
  function lapse(now: number): void {
    for (const [sessionId, { job, keptAt }] of claims) {
      if (now - keptAt < lapseMs) continue
      claims.delete(sessionId)
      const kept = waiting.get(sessionId)
      if (kept) dequeue(kept)
      const { kind, tenant, attempt, dueAt } = job
      enqueue({ sessionId, kind, tenant, attempt: attempt + 1, dueAt })
    }
  }

  const claimOf = (job: Job) => {
    const found = claims.get(job.sessionId)
    return found?.job.claim === (job as ClaimedJob).claim ? found : undefined
  }

  return {
    extendEveryMs,

    async wake(sessionId, { kind, tenant = '', at, transaction }) {
      const wakeNow = (): void =>
        enqueue({ sessionId, kind, tenant, attempt: 1, dueAt: Math.max(at ?? 0, clock.now()) })
      // A worker that looks before the commit finds nothing, and the job is gone.
      if (!transaction || !afterCommit(transaction, wakeNow)) wakeNow()
    },

    async claim(free, { kinds, tenantLimits }) {
      const now = clock.now()
      lapse(now)
      const used = new Map<string, number>()
      const use = (tenant: string): unknown => used.set(tenant, (used.get(tenant) ?? 0) + 1)
      for (const { job } of claims.values()) use(job.tenant)
      const found: WaitingJob[] = []
      for (const job of queue.after()) {
        if (found.length >= free || job.dueAt > now) break
        if (!kinds.includes(job.kind) || claims.has(job.sessionId)) continue
        if ((used.get(job.tenant) ?? 0) >= tenantLimit(tenantLimits, job.tenant)) continue
        use(job.tenant)
        found.push(job)
      }
      return found.map((job) => {
        dequeue(job)
        const { place: _, ...rest } = job
        const claimed: ClaimedJob = { ...rest, claim: ++count }
        claims.set(job.sessionId, { job: claimed, keptAt: now })
        return claimed
      })
    },

    async extend(jobs) {
      for (const job of jobs) {
        const found = claimOf(job)
        if (found) found.keptAt = clock.now()
      }
    },

    async settle(jobs) {
      for (const job of jobs) if (claimOf(job)) claims.delete(job.sessionId)
      if (queue.size > 0) tell() // a job may have waited for its session, or for the limit of its tenant
    },

    onWake(listener) {
      listeners.add(listener)
      setAlarm()
      return () => {
        listeners.delete(listener)
        setAlarm()
      }
    },

    async stats() {
      const now = clock.now()
      const due = [...queue.after()].filter(({ dueAt }) => dueAt <= now)
      const oldestDueAt = due[0]?.dueAt
      const later = queue.size - due.length
      return { waiting: due.length, claimed: claims.size, later, ...(oldestDueAt !== undefined && { oldestDueAt }) }
    },

    async close() {
      listeners.clear()
      setAlarm()
      waiting.clear()
      claims.clear()
    },
  }
}
