import { setImmediate } from 'node:timers/promises'

/**
 * Lets everything else that waits have its turn, timers that are due included; throws when the work is no longer wanted
 * after that. A time limit that ran out during long work is heard of only so.
 */
export async function othersIn(signal: AbortSignal): Promise<void> {
  // The first may come before the timers, the second does not.
  await setImmediate()
  await setImmediate()
  signal.throwIfAborted()
}
