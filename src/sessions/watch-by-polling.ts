import type { Clock } from '../core/clock.ts'
import type { StoreChange } from '../core/store.ts'

interface PollingOptions {
  readonly after?: number
  readonly signal: AbortSignal
  /** Ends with the first poll that finds nothing new. */
  readonly once?: boolean
  /**
   * Aborted when the store closes. Not joined with `signal`: Node keeps the result of `AbortSignal.any`, and with it all
   * listeners and so a whole session, until the next turn of the event loop.
   */
  readonly closing?: AbortSignal
  readonly clock: Clock
  /** The interval between two polls while nothing changes. Without it, only `subscribe` causes a poll. */
  readonly everyMs?: number
  /** For a store that is notified of some changes: adds a listener for them. Returns a function that removes it. */
  readonly subscribe?: (listener: () => void) => () => void
}

/**
 * Watches a session by polling. `poll` returns the entries after a number and the whole inbox, or undefined if it knows
 * that nothing changed since the last call. Yields what is new.
 */
export async function* watchByPolling(
  poll: (after: number) => Promise<StoreChange | undefined>,
  { after = 0, signal, once = false, closing, clock, everyMs, subscribe }: PollingOptions,
): AsyncGenerator<StoreChange, void, undefined> {
  let yieldedKeys = new Set<string>()
  let lastSeq = after
  const waker = createWaker()
  const stopListening = subscribe?.(waker.notify)
  const signals = closing ? [signal, closing] : [signal]
  const isOver = (): boolean => signals.some(({ aborted }) => aborted)
  for (const each of signals) each.addEventListener('abort', waker.notify)
  try {
    while (!isOver()) {
      waker.reset() // before polling, so that changes meanwhile cause another poll
      const change = await poll(lastSeq)
      if (isOver()) return
      const entries = change?.entries ?? []
      const inbox = change?.inbox.filter((item) => !yieldedKeys.has(item.clientKey)) ?? []
      // A key that left the inbox never comes back, so only the present keys are remembered.
      if (change) yieldedKeys = new Set(change.inbox.map((item) => item.clientKey))
      lastSeq = entries.at(-1)?.seq ?? lastSeq
      if (entries.length > 0 || inbox.length > 0) yield { entries, inbox }
      else if (once) return
      else await waker.wait(clock, everyMs)
    }
  } finally {
    stopListening?.()
    for (const each of signals) each.removeEventListener('abort', waker.notify)
  }
}

interface Waker {
  readonly notify: () => void
  reset(): void
  /** Resolves when notified, if notified since the last reset, or after `withinMs`. */
  wait(clock: Clock, withinMs: number | undefined): Promise<void>
}

function createWaker(): Waker {
  let isNotified = false
  let wakeUp: (() => void) | undefined
  return {
    notify() {
      isNotified = true
      wakeUp?.()
    },
    reset() {
      isNotified = false
    },
    async wait(clock, withinMs) {
      if (isNotified) return
      await new Promise<void>((resolve) => {
        const cancelTimer = withinMs === undefined ? undefined : clock.timer(withinMs, resolve)
        wakeUp = () => {
          cancelTimer?.()
          resolve()
        }
      })
      wakeUp = undefined
    },
  }
}
