import type { InboxItem } from '../core/log.ts'
import type { SessionStore } from '../core/store.ts'

/** What waits in the inbox of a session just now; `head` is the last entry of its log that is known. Takes no lease. */
export async function inboxOf(store: SessionStore, id: string, head = 0): Promise<readonly InboxItem[]> {
  const enough = new AbortController()
  try {
    // A watch begins with what is there: with the last entry that is known it has something to tell at once.
    for await (const { inbox } of store.watch(id, { after: Math.max(0, head - 1), signal: enough.signal })) return inbox
    return []
  } finally {
    enough.abort()
  }
}
