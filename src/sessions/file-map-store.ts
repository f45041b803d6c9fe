import { type Clock, systemClock } from '../core/clock.ts'
import { headMoved, leaseLost, SessionNotFoundError, StoreError, sessionBusy } from '../core/errors.ts'
import { failpoint, type LogEntry } from '../core/log.ts'
import type { BlobStore, Fence, Lease, LeaseRequest, SessionStore, StoreChange } from '../core/store.ts'
import { sha256Hex } from './bytes.ts'
import { adapterFiles, type FileMapAdapter, keyOf, textOf } from './file-map/adapter-files.ts'
import { deleteBlob, getBlob, saveBlobs } from './file-map/blob-files.ts'
import { FileMapSessions } from './file-map/file-map-sessions.ts'
import type { CachedSession } from './file-map/session-files.ts'
import { checkWritable, type SessionMeta } from './file-map/session-meta.ts'
import { boundsOf } from './session-query.ts'
import { type AppendContent, type SpillingStore, withSpill } from './spill.ts'
import { applyEntries, mailIn } from './stored-summary.ts'

export type { FileMapAdapter } from './file-map/adapter-files.ts'

interface Shared {
  readonly sessions: FileMapSessions
  readonly watchers: Map<string, Set<() => void>>
}

/** Shared by all stores over one adapter. */
const sharedBy = new WeakMap<FileMapAdapter, Shared>()

/** Held while a session is forked or deleted, so that no fork is made of a session that is being deleted. */
const familyLock = '\0family'

/**
 * Sessions in anything that can get, save and delete texts by name: per session `turns.jsonl`, one entry per line, and
 * `meta.json`; for all of them `index.json` with their summaries. For one process only: leases and fences work between all
 * stores over the same adapter object. It does not notice the changes of another process and overwrites them. An append saves
 * the entries first, then `meta.json`. The `head` in `meta.json` says how many entries are valid.
 */
export function createFileMapStore(
  adapter: FileMapAdapter,
  { clock = systemClock }: { clock?: Clock } = {},
): SessionStore {
  const { sessions, watchers } = sharedOf(adapter, clock)
  const { files, index, leases, withLocks } = sessions

  function changed({ meta }: CachedSession): void {
    index.set(meta, mailIn(meta.inbox))
    notify(meta.id)
  }

  function notify(id: string): void {
    for (const watcher of [...(watchers.get(id) ?? [])]) watcher()
  }

  /** A session that was written, or that has a lease. */
  async function existing(id: string): Promise<CachedSession> {
    const session = await files.of(id)
    if (!session.isStored && !leases.has(id)) throw new SessionNotFoundError(id)
    return session
  }

  async function append(id: string, entries: readonly LogEntry[], fence: Fence, content: AppendContent): Promise<void> {
    const { epoch, head, holder = id } = fence
    await sessions.ready()
    const lease = leases.get(holder)
    if (lease?.epoch !== epoch) throw leaseLost(holder, lease?.owner ?? (await files.of(holder)).meta.owner)
    const session = await files.of(id)
    const newBase = session.meta.head === 0 ? await newBaseOf(fence) : undefined
    const present = newBase?.head ?? session.meta.head
    if (present !== head) {
      const stored = await files.entries(session, { from: head + 1, to: Math.min(present, head + entries.length) })
      if (entries.every((entry, i) => stored[i]?.id === entry.id)) return
      throw headMoved(id, present, head)
    }
    checkNumbers(id, entries, head)
    checkWritable(session.meta)
    await index.whileMarkedStale([id], () => write(session, entries, { ...fence, ...content, newBase }))
    changed(session)
  }

  /** For the first append of a fork: the session that was forked. */
  async function newBaseOf({ base, head }: Fence): Promise<SessionMeta['base']> {
    if (base === undefined) return undefined
    const { meta } = await existing(base)
    if (meta.head < head) throw new RangeError(`Session ${base} has ${meta.head} entries; a fork cannot share ${head}`)
    return { id: base, head }
  }

  async function write(
    session: CachedSession,
    entries: readonly LogEntry[],
    { head, holder, parent, newBase, originalEntries, blobs }: Fence & AppendContent & { newBase: SessionMeta['base'] },
  ): Promise<void> {
    const { id } = session.meta
    const before = newBase
      ? await files.storedSummaryOf(await files.of(newBase.id), newBase.head)
      : await files.storedSummaryOf(session, session.meta.head)
    await saveBlobs(files, session, blobs)
    const added = textOf(entries)
    const size = blobs.reduce((sum, { bytes }) => sum + bytes.length, added.length)
    const base = newBase ?? session.meta.base
    failpoint('filemap.append.beforeTurns', entries)
    const log = await files.saveEntries(session, added, base)
    failpoint('filemap.append.beforeMeta', entries)
    const acceptedKeys = entries.flatMap((entry) => keyOf(entry) ?? [])
    const { epoch, owner } = leases.get(id) ?? session.meta
    await files.change(session, {
      head: head + entries.length,
      record: applyEntries(before, originalEntries, size),
      inbox: session.meta.inbox.filter(({ clientKey }) => !acceptedKeys.includes(clientKey)),
      base,
      ...(base && { isFork: true }),
      ...(parent !== undefined && { parent }),
      ...(holder === undefined && { epoch, owner }),
    })
    session.log = log
    for (const key of acceptedKeys) log.acceptedKeys?.add(key)
  }

  async function lease(id: string, { owner, ttlMs, epoch, takeOver, create }: LeaseRequest): Promise<Lease> {
    await sessions.ready()
    const session = await files.of(id)
    checkWritable(session.meta)
    const now = clock.now()
    const held = leases.get(id)
    if (epoch === undefined) {
      if (!create) await existing(id)
      if (held && held.expires > now && held.owner !== owner && !takeOver) throw sessionBusy(id, held.owner, held.since)
      const taken = { epoch: ++files.epochs, owner, since: now, expires: now + ttlMs }
      leases.set(id, taken)
      return leaseOf(session, taken.epoch)
    }
    if (held?.epoch !== epoch) throw leaseLost(id, held?.owner ?? session.meta.owner)
    held.expires = ttlMs === 0 ? 0 : now + ttlMs
    const given = leaseOf(session, epoch)
    if (ttlMs === 0) await release(session)
    return given
  }

  /** A session that was never written is gone with its lease, unless a message waits for it. */
  async function release({ meta }: CachedSession): Promise<void> {
    if (meta.head === 0 && meta.inbox.length === 0) await sessions.delete(meta.id)
    else await sessions.saveIdle()
  }

  /**
   * Reads take no lock, so that they wait for no writer. One that meets a deletion finds some files gone. If a read finds damage,
   * it is therefore made again under the lock, after the deletions that an earlier process began.
   */
  async function entriesOf(session: CachedSession, bounds: { from: number; to: number }): Promise<readonly LogEntry[]> {
    try {
      return await files.entries(session, bounds)
    } catch (error) {
      if (!(error instanceof StoreError && error.code === 'corrupt')) throw error
      await sessions.ready().catch(() => {}) // the first error says more
      const again = () => files.entries(session, { ...bounds, to: Math.min(bounds.to, session.meta.head) })
      return withLocks([session.meta.id], again)
    }
  }

  return withSpill({
    isOneProcess: true,

    append: (id, entries, fence, content) => {
      const { holder = id, base } = fence
      const names = base === undefined ? [holder, id] : [familyLock, holder, id]
      return withLocks(names, () => append(id, entries, fence, content))
    },

    async read(id, range = {}) {
      const session = await files.of(id)
      return entriesOf(session, boundsOf(range, session.meta.head))
    },

    async find(id) {
      await sessions.ready()
      return index.summaries.find(id)
    },

    async list(query) {
      await sessions.ready()
      return index.summaries.page(query)
    },

    delete: (id) =>
      withLocks([familyLock, id], async () => {
        await sessions.ready()
        for (const deleted of await sessions.delete(id)) notify(deleted)
      }),

    lease: (id, request) => withLocks([id], () => lease(id, request)),

    send: (id, item) =>
      withLocks([id], async () => {
        await sessions.ready()
        const session = await existing(id)
        const { inbox } = session.meta
        if (inbox.some(({ clientKey }) => clientKey === item.clientKey)) return
        if ((await files.acceptedKeys(session)).has(item.clientKey)) return
        await index.whileMarkedStale([id], () => files.change(session, { inbox: [...inbox, item] }))
        changed(session)
      }),

    async *watch(id, { after = 0, signal, inboxOnly = false, once = false }) {
      let shown: ReadonlySet<string> = new Set()
      let seen = after
      while (!signal.aborted) {
        const next = nextChange(watchers, id, signal) // before reading, so that no change is missed
        try {
          const session = await files.of(id)
          const { head, inbox: waiting } = session.meta
          if (!inboxOnly && seen > head) throw new SessionNotFoundError(id)
          const inbox = waiting.filter(({ clientKey }) => !shown.has(clientKey))
          const entries = inboxOnly ? [] : await entriesOf(session, { from: seen + 1, to: head })
          seen += entries.length
          shown = new Set(waiting.map(({ clientKey }) => clientKey)) // a key that left the inbox never comes back
          if (signal.aborted) return
          if (entries.length > 0 || inbox.length > 0) yield { entries, inbox } satisfies StoreChange
          else if (once) return
          else await next.promise
        } finally {
          next.stopWaiting()
        }
      }
    },

    blobs: (id): BlobStore => ({
      async put(data) {
        const bytes = new Uint8Array(data)
        const name = await sha256Hex(bytes)
        await withLocks([id], async () => {
          await sessions.ready()
          const session = await existing(id)
          await index.whileMarkedStale([id], () => saveBlobs(files, session, [{ name, bytes }]))
        })
        return name
      },
      get: async (name) => getBlob(files, await files.of(id), name),
      names: async () => (await files.of(id)).meta.blobs,
      delete: (name) => withLocks([id], async () => deleteBlob(files, await files.of(id), name)),
    }),
  } satisfies SpillingStore)
}

function sharedOf(adapter: FileMapAdapter, clock: Clock): Shared {
  let shared = sharedBy.get(adapter)
  if (!shared) {
    shared = { sessions: new FileMapSessions(adapterFiles(adapter), clock), watchers: new Map() }
    sharedBy.set(adapter, shared)
  }
  return shared
}

function leaseOf({ meta }: CachedSession, epoch: number): Lease {
  return { epoch, head: meta.head, inbox: meta.inbox }
}

function checkNumbers(id: string, entries: readonly LogEntry[], head: number): void {
  const wrong = entries.find(({ seq }, i) => seq !== head + i + 1)
  if (wrong) throw new RangeError(`Entry ${wrong.id} of session ${id} has seq ${wrong.seq}, but ${head} are written`)
}

/** Resolves with the next change of a session, when `signal` aborts, or when the caller stops waiting for it. */
function nextChange(
  watchers: Shared['watchers'],
  id: string,
  signal: AbortSignal,
): { readonly promise: Promise<void>; stopWaiting(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const waiting = watchers.get(id) ?? new Set()
  const stopWaiting = (): void => {
    waiting.delete(stopWaiting)
    if (waiting.size === 0 && watchers.get(id) === waiting) watchers.delete(id)
    signal.removeEventListener('abort', stopWaiting)
    resolve()
  }
  watchers.set(id, waiting.add(stopWaiting))
  signal.addEventListener('abort', stopWaiting)
  return { promise, stopWaiting }
}
