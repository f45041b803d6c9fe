import { onTestFinished } from 'vitest'
import type { Clock } from '../../src/core/clock.ts'
import type { SessionStore } from '../../src/core/store.ts'
import type { FakeClock } from '../../src/testing/fake-clock.ts'
import type { Wake, WakeCall } from '../../src/workflow/schedules/schedule-owner.ts'
import { createScheduler, type Scheduler, type SchedulerOptions } from '../../src/workflow/schedules/scheduler.ts'

/** A Monday at noon. */
export const begin = Date.parse('2026-01-05T12:00:00Z')
export const minute = 60_000
export const hour = 60 * minute
export const iso = (at: number): string => new Date(at).toISOString()

/** Agents that hear each key once, and what they heard, with when. */
export function agents(clock: Clock) {
  const heard: { key: string; at: number; message: string; agentId: string }[] = []
  const calls: WakeCall[] = []
  const wake: Wake = (call) => {
    calls.push(call)
    if (!heard.some(({ key }) => key === call.clientKey))
      heard.push({ key: call.clientKey, at: clock.now(), message: call.message, agentId: call.agentId })
  }
  return { heard, calls, wake, times: () => heard.map(({ at }) => iso(at)) }
}

/** Where a scheduler lives. */
export interface World {
  readonly clock: FakeClock
  readonly store: SessionStore
}

/** A scheduler that must not fail, and is stopped after the test. */
export function run({ clock, store }: World, options: Partial<SchedulerOptions> & { readonly wake: Wake }): Scheduler {
  const onError = (error: unknown): void => {
    throw new Error('the scheduler reported an error that no test expects', { cause: error })
  }
  const scheduler = createScheduler({ store, clock, onError, ...calm, ...options })
  onTestFinished(() => scheduler.stop())
  return scheduler
}

/** So that days pass in few steps. */
export const calm = { pollMs: 24 * hour, leaseMs: 24 * hour }
/** As it is by default. */
export const alert = { pollMs: 10_000, leaseMs: 30_000 }

/** The store and the clock as a process sees them until it is killed: after that it does nothing, and is not told. */
export function mortal({ clock, store }: World): World & { readonly kill: () => void } {
  const death = new AbortController()
  const never = new Promise<never>(() => {})
  const mortalStore = new Proxy(store, {
    get(target, name) {
      const method = target[name as keyof SessionStore] as unknown
      if (typeof method !== 'function') return method
      if (name === 'watch')
        return (id: string, options: { signal: AbortSignal }) =>
          target.watch(id, { ...options, signal: AbortSignal.any([options.signal, death.signal]) })
      return (...args: unknown[]) => (death.signal.aborted ? never : method.apply(target, args))
    },
  })
  return {
    clock: { ...clock, timer: (ms, fn) => clock.timer(ms, () => death.signal.aborted || fn()) },
    store: mortalStore,
    kill: () => death.abort(),
  }
}
