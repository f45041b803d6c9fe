import type { Clock } from '../../core/clock.ts'
import { isRecord } from '../../core/is-record.ts'

/** A clock that moves only by `turn`. */
export function manualClock(start: number): Clock & { turn(ms: number): void } {
  let now = start
  return {
    now: () => now,
    timer: () => () => {},
    turn(ms) {
      now += ms
    },
  }
}

/** Throws if a condition is false. */
export function check(isTrue: boolean, what: string): void {
  if (!isTrue) throw new Error(what)
}

/** Throws if two values differ in JSON. */
export function same(actual: unknown, expected: unknown, what: string): void {
  const [found, wanted] = [shown(actual), shown(expected)]
  if (found !== wanted) throw new Error(`${what}: it is ${found.slice(0, 600)}, expected ${wanted.slice(0, 600)}`)
}

/** As JSON, with the keys in order. */
function shown(value: unknown): string {
  const ordered = (_: string, inner: unknown): unknown =>
    isRecord(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner
  return JSON.stringify(value, ordered) ?? 'undefined'
}

/** The error of work that must fail. */
export async function fails(work: Promise<unknown>, what: string): Promise<Error> {
  const [outcome] = await Promise.allSettled([work])
  if (outcome.status === 'fulfilled') throw new Error(`${what}: it must fail and gave ${shown(outcome.value)}`)
  if (!(outcome.reason instanceof Error)) throw new Error(`${what}: it must fail with an Error`)
  return outcome.reason
}
