import type { Clock } from '../../core/clock.ts'
import type { SessionStore, StoreChange } from '../../core/store.ts'

export interface WatchOnce {
  readonly after: number
  /** Keys of messages that are known already. */
  readonly seen: ReadonlySet<string>
  readonly holdMs: number
  /** Of the request: nobody waits for the answer any more. */
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** The next change of a session; undefined when the time is up before there is one. */
export async function watchOnce(
  store: SessionStore,
  id: string,
  { after, seen, holdMs, signal, clock }: WatchOnce,
): Promise<StoreChange | undefined> {
  const ended = new AbortController()
  const end = (): void => ended.abort()
  if (signal.aborted) return undefined
  signal.addEventListener('abort', end)
  const callOff = clock.timer(holdMs, end)
  try {
    for await (const { entries, inbox } of store.watch(id, { after, signal: ended.signal })) {
      const unseen = inbox.filter((item) => !seen.has(item.clientKey))
      if (entries.length > 0 || unseen.length > 0) return { entries, inbox: unseen }
    }
    return undefined
  } finally {
    callOff()
    signal.removeEventListener('abort', end)
    end()
  }
}
