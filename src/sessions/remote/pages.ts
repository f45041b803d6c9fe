import type { Clock } from '../../core/clock.ts'
import type { LogEntry } from '../../core/log.ts'
import type { EntryRange, SessionStore, StoreChange } from '../../core/store.ts'

/** Characters, so at most three times as many bytes. */
export const maxPageLength = 8 * 1024 * 1024
const maxPageItems = 10_000

export interface Page {
  /** JSON, a list. */
  readonly text: string
  readonly count: number
  readonly isLast: boolean
}

/** As many items from the beginning of a list as fit into one answer, but at least one. */
export function pageOf(items: readonly unknown[]): Page {
  const page = new PageBuilder()
  const isLast = items.every((item) => page.add(item))
  return { text: page.text, count: page.count, isLast }
}

class PageBuilder {
  readonly #parts: string[] = []
  length = 0

  /** Adds an item; false if it does not fit. */
  add(item: unknown): boolean {
    const part = JSON.stringify(item)
    const isFull = this.#parts.length >= maxPageItems || this.length + part.length > maxPageLength
    if (this.#parts.length > 0 && isFull) return false
    this.#parts.push(part)
    this.length += part.length
    return true
  }

  get count(): number {
    return this.#parts.length
  }

  get text(): string {
    return `[${this.#parts.join(',')}]`
  }
}

/** So many entries are read at first, and as many as are expected to fit after that. */
const firstChunk = 50
const maxChunk = 2000

/** The first page of a range of entries, with the number of its last one if more follow. Reads little more than it gives. */
export async function readPage(
  store: SessionStore,
  id: string,
  { fromEnd = false, ...range }: EntryRange,
): Promise<{ readonly text: string; readonly next?: number }> {
  const { before = Number.POSITIVE_INFINITY, limit = Number.POSITIVE_INFINITY } = range
  const page = new PageBuilder()
  let after = range.after ?? 0
  if (fromEnd) after = Math.max(after, Math.min((await store.find(id))?.head ?? 0, before - 1) - limit)
  let chunk = firstChunk
  for (;;) {
    const wanted = Math.min(chunk, limit - page.count)
    const entries: readonly LogEntry[] = await store.read(id, { ...range, after, limit: wanted })
    for (const entry of entries) {
      if (!page.add(entry)) return { text: page.text, next: after }
      after = entry.seq
    }
    if (entries.length < wanted || page.count >= limit) return { text: page.text }
    const fitting = Math.ceil(((maxPageLength - page.length) * page.count) / page.length)
    chunk = Math.max(1, Math.min(maxChunk, fitting))
  }
}

interface WatchOnce {
  readonly after: number
  /** Keys of messages that the client knows. */
  readonly seen: ReadonlySet<string>
  readonly inboxOnly: boolean
  /** Answers with what exists, and does not hold the request. */
  readonly once: boolean
  readonly holdMs: number
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** A change of a session, and the keys of all messages that wait. */
export interface WatchedChange extends StoreChange {
  readonly waiting: readonly string[]
}

/** The next change of a session; without entries and messages if there is none within `holdMs`. */
export async function watchOnce(
  store: SessionStore,
  id: string,
  { after, seen, inboxOnly, once, holdMs, signal, clock }: WatchOnce,
): Promise<WatchedChange> {
  const waiting: string[] = []
  const ended = new AbortController()
  const end = (): void => ended.abort()
  if (signal.aborted) return { entries: [], inbox: [], waiting }
  signal.addEventListener('abort', end)
  const cancelTimer = clock.timer(holdMs, end)
  try {
    for await (const { entries, inbox } of store.watch(id, { after, inboxOnly, once, signal: ended.signal })) {
      for (const { clientKey } of inbox) waiting.push(clientKey)
      const unseen = inbox.filter((item) => !seen.has(item.clientKey))
      if (entries.length > 0 || unseen.length > 0) return { entries, inbox: unseen, waiting }
    }
    return { entries: [], inbox: [], waiting }
  } finally {
    cancelTimer()
    signal.removeEventListener('abort', end)
    end()
  }
}
