import { StoreError } from '../core/errors.ts'
import type { LogEntry } from '../core/log.ts'
import type { AnyEntry } from '../core/log-entry.ts'
import type { BlobStore, Fence, SessionStore } from '../core/store.ts'
import { sha256Hex } from './bytes.ts'

/** Stored in place of an entry that is too large for a line or a row; the entry itself is in a blob. */
export interface SpilledEntry extends Pick<LogEntry, 'seq' | 'id' | 'at'> {
  readonly type: 'spilled'
  /** The type of the entry. */
  readonly of: string
  readonly blob: string
  readonly clientKey?: string
}

/** A store whose large entries `withSpill` keeps in blobs. */
export interface SpillingStore extends Omit<SessionStore, 'append'> {
  append(sessionId: string, storedEntries: readonly LogEntry[], fence: Fence, content: AppendContent): Promise<void>
}

/** The full content of an append. A store gets it beside the entries to store, in which stubs stand for the large entries. */
export interface AppendContent {
  /** The entries as the caller gave them, with nothing in blobs. The summary is computed from them. */
  readonly originalEntries: readonly LogEntry[]
  /** The blobs that the entries name. They must be durable before the entries are, or together with them. */
  readonly blobs: readonly SpilledBlob[]
}

export interface SpilledBlob {
  readonly name: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** Larger entries become blobs. */
const maxInlineSize = 256 * 1024

/**
 * The store that callers see: it takes and gives whole entries, and keeps entries of more than 256 KiB as blobs. `names()` does not
 * show these blobs.
 */
export function withSpill<Store extends SpillingStore>(
  store: Store,
): Omit<Store, 'append'> & Pick<SessionStore, 'append'> {
  return {
    ...store,
    append: (id: string, entries: readonly LogEntry[], fence: Fence) =>
      entries.some(isLarge)
        ? spillAndAppend(store, id, entries, fence)
        : store.append(id, entries, fence, { originalEntries: entries, blobs: [] }),
    read: async (id, range) => wholeEntries(store.blobs(id), id, await store.read(id, range)),
    async *watch(id, options) {
      for await (const { entries, inbox } of store.watch(id, options))
        yield { entries: await wholeEntries(store.blobs(id), id, entries), inbox }
    },
    blobs: (id) => ({ ...store.blobs(id), names: () => namesWithoutSpilled(store, id) }),
  } satisfies Pick<SessionStore, 'append' | 'read' | 'watch' | 'blobs'> & Store
}

async function spillAndAppend(
  store: SpillingStore,
  id: string,
  entries: readonly LogEntry[],
  fence: Fence,
): Promise<void> {
  const blobs: SpilledBlob[] = []
  const storedEntries = await Promise.all(entries.map((entry) => spill(entry, blobs)))
  await store.append(id, storedEntries, fence, { originalEntries: entries, blobs })
}

async function spill(entry: LogEntry, blobs: SpilledBlob[]): Promise<LogEntry> {
  if (!isLarge(entry)) return entry
  const bytes = new TextEncoder().encode(JSON.stringify(entry))
  const blob = await sha256Hex(bytes)
  blobs.push({ name: blob, bytes })
  const key = 'clientKey' in entry && entry.clientKey !== undefined && { clientKey: entry.clientKey }
  const { seq, at, type: of } = entry
  const stub: SpilledEntry = { seq, id: entry.id, at, type: 'spilled', of, blob, ...key }
  const kept: AnyEntry = stub
  return kept as LogEntry // a type of the store, which no log contains
}

/** The entries, with each stub replaced by the entry from its blob. For a store that reads its own entries. */
export async function wholeEntries(
  blobs: Pick<BlobStore, 'get'>,
  id: string,
  entries: readonly LogEntry[],
): Promise<readonly LogEntry[]> {
  if (!entries.some(isSpilled)) return entries
  return Promise.all(entries.map((entry) => (isSpilled(entry) ? fetch(blobs, id, entry) : entry)))
}

async function fetch(blobs: Pick<BlobStore, 'get'>, id: string, stub: SpilledEntry): Promise<LogEntry> {
  return wholeEntry(id, stub, await blobs.get(stub.blob))
}

/** The entry of a stub, from the bytes of its blob. */
export function wholeEntry(id: string, stub: SpilledEntry, bytes: Uint8Array | undefined): LogEntry {
  const { seq, blob } = stub
  if (!bytes)
    throw new StoreError(
      'corrupt',
      `Session ${id}: entry ${seq} names the blob ${blob}, which is not there; restore the store from a backup`,
    )
  const entry = parsed(bytes)
  if (entry?.seq !== seq || entry.id !== stub.id)
    throw new StoreError(
      'corrupt',
      `Session ${id}: the blob ${blob} of entry ${seq} holds something else; restore the store from a backup`,
    )
  return entry
}

function parsed(bytes: Uint8Array): LogEntry | undefined {
  try {
    return (JSON.parse(new TextDecoder().decode(bytes)) as LogEntry | null) ?? undefined
  } catch {
    return undefined
  }
}

/** How many entries are read at a time. */
const pageSize = 1000

/** The names of the blobs that callers see: all except those that hold entries. */
async function namesWithoutSpilled(store: SpillingStore, id: string): Promise<readonly string[]> {
  const names = await store.blobs(id).names()
  if (names.length === 0) return names
  const hidden = new Set<string>()
  let after = 0
  for (;;) {
    const entries = await store.read(id, { after, limit: pageSize })
    for (const entry of entries as readonly unknown[]) if (isSpilled(entry)) hidden.add(entry.blob)
    if (entries.length < pageSize) break
    after += entries.length
  }
  return names.filter((name) => !hidden.has(name))
}

/** Whether this is the stub of a large entry. */
export const isSpilled = (entry: unknown): entry is SpilledEntry =>
  typeof entry === 'object' && entry !== null && 'type' in entry && entry.type === 'spilled' && 'blob' in entry

/** Estimated by the length of its texts, because serializing it would cost as much as storing it. */
function isLarge(entry: LogEntry): boolean {
  return approximateSize(entry, maxInlineSize) > maxInlineSize
}

/** The approximate size of a value as JSON. Counting stops once it exceeds `enough`. */
export function approximateSize(value: unknown, enough: number = Number.POSITIVE_INFINITY): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  let size = 0
  for (const key in value) {
    size += approximateSize((value as Record<string, unknown>)[key], enough - size)
    if (size > enough) break
  }
  return size
}
