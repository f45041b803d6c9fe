import type { Clock } from '../core/clock.ts'
import type { StoreChange } from '../core/store.ts'

export interface PollingOptions {
  readonly after?: number
  readonly signal: AbortSignal
  /**
   * Aborted when the store closes. Beside `signal`, not joined with it: what `AbortSignal.any` makes is kept by Node until
   * its event loop turns, and with it all that listens, here a whole session.
   */
  readonly closing?: AbortSignal
  readonly clock: Clock
  /** How long to wait before looking again when nothing was new. */
  readonly everyMs: number
  /** For a store that hears of some changes at once: calls the listener on each. Returns how to stop that. */
  readonly wake?: (listener: () => void) => () => void
}

/**
 * Watches a session by looking again and again. `peek` gives the entries after a number and everything that waits in
 * the inbox, or undefined where it knows that nothing changed since it was last asked. Yields what is new.
 */
export async function* watchByPolling(
  peek: (after: number) => Promise<StoreChange | undefined>,
  { after = 0, signal, closing, clock, everyMs, wake }: PollingOptions,
): AsyncGenerator<StoreChange, void, undefined> {
  let shown = new Set<string>()
  let seen = after
  const bell = createBell()
  const stopListening = wake?.(bell.ring)
  const signals = closing ? [signal, closing] : [signal]
  const isOver = (): boolean => signals.some(({ aborted }) => aborted)
  for (const one of signals) one.addEventListener('abort', bell.ring)
  try {
    while (!isOver()) {
      bell.mute() // before looking, so that what changes meanwhile is looked at again
      const found = await peek(seen)
      if (isOver()) return
      const entries = found?.entries ?? []
      const inbox = found?.inbox.filter((item) => !shown.has(item.clientKey)) ?? []
      // A key that left the inbox never comes back, so only those that wait need to be remembered.
      if (found) shown = new Set(found.inbox.map((item) => item.clientKey))
      seen = entries.at(-1)?.seq ?? seen
      if (entries.length > 0 || inbox.length > 0) yield { entries, inbox }
      else await bell.rung(clock, everyMs)
    }
  } finally {
    stopListening?.()
    for (const one of signals) one.removeEventListener('abort', bell.ring)
  }
}

interface Bell {
  readonly ring: () => void
  mute(): void
  /** Resolves when it rings, or rang since it was muted, or the time is up. */
  rung(clock: Clock, withinMs: number): Promise<void>
}

function createBell(): Bell {
  let hasRung = false
  let wakeUp: (() => void) | undefined
  return {
    ring() {
      hasRung = true
      wakeUp?.()
    },
    mute() {
      hasRung = false
    },
    async rung(clock, withinMs) {
      if (hasRung) return
      await new Promise<void>((resolve) => {
        const callOff = clock.timer(withinMs, resolve)
        wakeUp = () => {
          callOff()
          resolve()
        }
      })
      wakeUp = undefined
    },
  }
}
