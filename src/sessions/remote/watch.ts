import type { Clock } from '../../core/clock.ts'
import { StoreError } from '../../core/errors.ts'
import type { StoreChange } from '../../core/store.ts'
import { backoff } from './connection.ts'
import { pause } from './pause.ts'

export interface LongPolling {
  readonly after: number
  readonly signal: AbortSignal
  /** Of the store: who still watches is told that it is gone. */
  readonly closing: AbortSignal
  readonly clock: Clock
  readonly pollMs: number
}

/** A server that kept us waiting so long may be asked again at once. */
const heldMs = 1000
/** What the query may carry of the keys that are known; without the others the server answers sooner than it had to. */
const mostSeenLength = 4000

/**
 * Watches a session by asking again and again for what came after `after`, except messages that were `seen`. The server
 * lets us wait while there is nothing. Goes on after failures that may pass, until the signal is aborted.
 */
export async function* watchByLongPolling(
  ask: (after: number, seen: readonly string[]) => Promise<StoreChange>,
  { after, signal, closing, clock, pollMs }: LongPolling,
): AsyncGenerator<StoreChange, void, undefined> {
  const shown = new Set<string>()
  let seen = after
  let failures = 0
  while (!signal.aborted) {
    const askedAt = clock.now()
    let found: StoreChange | undefined
    try {
      found = await ask(seen, someOf(shown))
      failures = 0
    } catch (error) {
      if (signal.aborted) return
      if (closing.aborted || !mayPass(error)) throw error
      await pause(clock, backoff(++failures), [signal, closing])
      continue
    }
    if (signal.aborted) return
    const inbox = found.inbox.filter((item) => !shown.has(item.clientKey))
    for (const item of inbox) shown.add(item.clientKey)
    // What is in the log has left the inbox and never comes back.
    for (const entry of found.entries) if ('clientKey' in entry && entry.clientKey) shown.delete(entry.clientKey)
    seen = found.entries.at(-1)?.seq ?? seen
    if (found.entries.length > 0 || inbox.length > 0) yield { entries: found.entries, inbox }
    else if (clock.now() - askedAt < heldMs) await pause(clock, pollMs, [signal, closing])
  }
}

const mayPass = (error: unknown): boolean =>
  error instanceof StoreError && (error.code === 'unavailable' || error.code === 'busy')

/** The newest, as many as fit into an address. */
function someOf(keys: ReadonlySet<string>): string[] {
  const some: string[] = []
  let length = 0
  for (const key of [...keys].reverse()) {
    if (!key.isWellFormed()) continue // it has no spelling there
    length += encodeURIComponent(key).length + '&seen='.length
    if (length > mostSeenLength) break
    some.push(key)
  }
  return some
}
