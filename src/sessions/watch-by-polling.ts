import type { Clock } from '../core/clock.ts'
import type { StoreChange } from '../core/store.ts'

interface PollingOptions {
  readonly after?: number
  readonly signal: AbortSignal
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
  { after = 0, signal, closing, clock, everyMs, subscribe }: PollingOptions,
): AsyncGenerator<StoreChange, void, undefined> {
  let shown = new Set<string>()
  let seen = after
  const waker = createWaker()
  const stopListening = subscribe?.(waker.notify)
  const signals = closing ? [signal, closing] : [signal]
  const isOver = (): boolean => signals.some(({ aborted }) => aborted)
  for (const each of signals) each.addEventListener('abort', waker.notify)
  try {
    while (!isOver()) {
      waker.reset() // before polling, so that changes meanwhile cause another poll
      const change = await poll(seen)
      if (isOver()) return
      const entries = change?.entries ?? []
      const inbox = change?.inbox.filter((item) => !shown.has(item.clientKey)) ?? []
      // A key that left the inbox never comes back, so only the present keys are remembered.
      if (change) shown = new Set(change.inbox.map((item) => item.clientKey))
      seen = entries.at(-1)?.seq ?? seen
      if (entries.length > 0 || inbox.length > 0) yield { entries, inbox }
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

/** Listeners for changes that this process makes to a session. */
export class ChangeListeners {
  readonly #listeners = new Map<string, Set<() => void>>()

  /** Returns a function that removes the listener. */
  add(id: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(id) ?? new Set()
    this.#listeners.set(id, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id)
    }
  }

  notify(id: string): void {
    for (const listener of this.#listeners.get(id) ?? []) listener()
  }
}
