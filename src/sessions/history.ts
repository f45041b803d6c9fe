import type { LogEntry } from '../core/log.ts'
import type { EntryRange, SessionStore, SessionSummary } from '../core/store.ts'
import { type History, needsEarlierTurns, readCheckpoint } from './checkpoints/checkpoint.ts'

/** How many entries are read at once where all are needed. */
export const pageSize = 200

/** What is needed to open a session: its last checkpoint and the entries after it; without one, all entries. */
export async function readHistory(
  store: SessionStore,
  { id, checkpoint: seq }: Pick<SessionSummary, 'id' | 'checkpoint'>,
  { upTo, withAllAfter = Number.POSITIVE_INFINITY }: HistoryOptions = {},
): Promise<History> {
  const before = upTo !== undefined && { before: upTo + 1 }
  const checkpoint = seq === undefined ? undefined : readCheckpoint(await entryAt(store, id, seq))
  if (checkpoint && checkpoint.from <= withAllAfter) {
    const history = { checkpoint, entries: await store.read(id, { after: checkpoint.from, ...before }) }
    if (!needsEarlierTurns(history)) return history
  }
  return { entries: await store.read(id, { ...before }) }
}

interface HistoryOptions {
  /** Entries after this one are left out. */
  readonly upTo?: number
  /** All entries after this one are needed. */
  readonly withAllAfter?: number
}

async function entryAt(store: SessionStore, id: string, seq: number): Promise<LogEntry | undefined> {
  const [entry] = await store.read(id, { after: seq - 1, limit: 1 })
  return entry?.seq === seq ? entry : undefined
}

/** All entries of a range, read in pages. */
export async function* eachEntry(
  store: SessionStore,
  id: string,
  { after = 0, before = Number.POSITIVE_INFINITY }: Pick<EntryRange, 'after' | 'before'> = {},
): AsyncGenerator<LogEntry, void> {
  let last = after
  for (;;) {
    const entries = await store.read(id, { after: last, limit: pageSize, ...(Number.isFinite(before) && { before }) })
    yield* entries
    if (entries.length < pageSize) return
    last = entries.at(-1)!.seq
  }
}

/** The same from the end to the beginning. */
export async function* eachEntryBackwards(
  store: SessionStore,
  id: string,
  given?: number,
): AsyncGenerator<LogEntry, void> {
  let before = given
  for (;;) {
    const range = { limit: pageSize, fromEnd: true, ...(before !== undefined && { before }) }
    const entries = await store.read(id, range)
    yield* entries.toReversed()
    if (entries.length < pageSize) return
    before = entries[0]!.seq
  }
}

/** Whether the log has a message with this key. Reads it from the end. */
export async function hasLoggedKey(store: SessionStore, id: string, clientKey: string): Promise<boolean> {
  for await (const entry of eachEntryBackwards(store, id))
    if ('clientKey' in entry && entry.clientKey === clientKey) return true
  return false
}
