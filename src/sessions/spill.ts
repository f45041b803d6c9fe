import { StoreError } from '../core/errors.ts'
import { failpoint, type LogEntry } from '../core/log.ts'
import type { SessionStore } from '../core/store.ts'

/** Stored in place of an entry that is too large for a line or a row; the entry itself is in a blob. */
interface SpilledEntry extends Pick<LogEntry, 'seq' | 'id' | 'at'> {
  readonly type: 'spilled'
  /** The type of the entry. */
  readonly of: string
  readonly blob: string
  readonly clientKey?: string
}

/** Larger entries become blobs. */
const maxInlineSize = 256 * 1024
const wrapped = new WeakMap<SessionStore, SessionStore>()

/**
 * Wraps a store so that entries of more than 256 KiB are kept as blobs. The blob is durable before the entry that names it.
 * Reading through the wrapped store gives whole entries.
 */
export function withSpill(store: SessionStore): SessionStore {
  let spilling = wrapped.get(store)
  if (!spilling) {
    spilling = spillingStore(store)
    wrapped.set(store, spilling)
    wrapped.set(spilling, spilling)
  }
  return spilling
}

function spillingStore(store: SessionStore): SessionStore {
  return {
    async append(id, entries, fence) {
      const kept = entries.some(isLarge) ? await Promise.all(entries.map((entry) => spill(store, id, entry))) : entries
      await store.append(id, kept, fence)
    },
    read: async (id, range) => whole(store, id, await store.read(id, range)),
    async *watch(id, options) {
      for await (const { entries, inbox } of store.watch(id, options))
        yield { entries: await whole(store, id, entries), inbox }
    },
    find: (id) => store.find(id),
    list: (query) => store.list(query),
    delete: (id) => store.delete(id),
    lease: (id, request) => store.lease(id, request),
    send: (id, item) => store.send(id, item),
    blobs: (id) => store.blobs(id),
    ...(store.isOneProcess !== undefined && { isOneProcess: store.isOneProcess }),
    ...(store.identity && { identity: () => store.identity!() }),
    ...(store.close && { close: () => store.close!() }),
  }
}

async function spill(store: SessionStore, id: string, entry: LogEntry): Promise<LogEntry> {
  if (!isLarge(entry)) return entry
  const blob = await store.blobs(id).put(new TextEncoder().encode(JSON.stringify(entry)))
  failpoint('spill.blob.after')
  const key = 'clientKey' in entry && entry.clientKey !== undefined && { clientKey: entry.clientKey }
  const { seq, at, type: of } = entry
  const stub: SpilledEntry = { seq, id: entry.id, at, type: 'spilled', of, blob, ...key }
  return stub as unknown as LogEntry // a type of the store, which no log contains
}

async function whole(store: SessionStore, id: string, entries: readonly LogEntry[]): Promise<readonly LogEntry[]> {
  if (!entries.some(isSpilled)) return entries
  return Promise.all(entries.map((entry) => (isSpilled(entry) ? fetch(store, id, entry) : entry)))
}

async function fetch(store: SessionStore, id: string, { seq, blob, ...stub }: SpilledEntry): Promise<LogEntry> {
  const bytes = await store.blobs(id).get(blob)
  if (!bytes) throw new StoreError('corrupt', `Session ${id}: entry ${seq} names the blob ${blob}, which is not there`)
  const entry = parsed(bytes)
  if (entry?.seq !== seq || entry.id !== stub.id)
    throw new StoreError('corrupt', `Session ${id}: the blob ${blob} of entry ${seq} holds something else`)
  return entry
}

function parsed(bytes: Uint8Array): LogEntry | undefined {
  try {
    return (JSON.parse(new TextDecoder().decode(bytes)) as LogEntry | null) ?? undefined
  } catch {
    return undefined
  }
}

const isSpilled = (entry: unknown): entry is SpilledEntry =>
  typeof entry === 'object' && entry !== null && 'type' in entry && entry.type === 'spilled' && 'blob' in entry

/** Estimated by the length of its texts, because serializing it would cost as much as storing it. */
function isLarge(entry: LogEntry): boolean {
  return sizeOf(entry, 0) > maxInlineSize
}

function sizeOf(value: unknown, size: number): number {
  if (typeof value === 'string') return size + value.length
  if (typeof value !== 'object' || value === null) return size + 8
  let sum = size
  for (const key in value) {
    sum = sizeOf((value as Record<string, unknown>)[key], sum)
    if (sum > maxInlineSize) return sum
  }
  return sum
}
