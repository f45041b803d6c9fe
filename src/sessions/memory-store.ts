import { type Clock, systemClock } from '../core/clock.ts'
import { headMoved, leaseLost, SessionNotFoundError, sessionBusy } from '../core/errors.ts'
import type { InboxItem, LogEntry } from '../core/log.ts'
import type { BlobStore, SessionStore, StoreChange } from '../core/store.ts'
import { sha256Hex } from './bytes.ts'
import { SessionIndex } from './session-index.ts'
import { entriesInRange } from './session-query.ts'
import { approximateSize } from './spill.ts'
import { applyEntries, emptySummary, mailIn, type StoredSummary } from './stored-summary.ts'

interface MemorySession {
  readonly id: string
  entries: LogEntry[]
  summary: StoredSummary
  readonly inbox: InboxItem[]
  /** All keys that were ever sent or appended, so that a repeated message is ignored after delivery too. */
  readonly sent: Set<string>
  readonly blobs: Map<string, Uint8Array>
  /** Of a fork: the blobs of the session it was forked from. */
  sharedBlobs: ReadonlyMap<string, Uint8Array>
  epoch: number
  owner: string
  since: number
  expires: number
  parent: string | undefined
}

/** Sessions in memory. Entries are kept by reference, because committed entries are frozen. */
export function createMemoryStore({ clock = systemClock }: { clock?: Clock } = {}): SessionStore {
  const sessions = new Map<string, MemorySession>()
  const index = new SessionIndex(({ id }) => rootOf(sessions.get(id)!).expires > clock.now())
  const watchers = new Map<string, Set<() => void>>()
  let epochs = 0 // over all sessions, so that a session that is deleted and created again fences off its old writer

  function existing(id: string): MemorySession {
    const session = sessions.get(id)
    if (!session) throw new SessionNotFoundError(id)
    return session
  }

  /** The session whose lease covers this one: the root of its tree. Of sessions that are each other's parents, it is one of them. */
  function rootOf(session: MemorySession): MemorySession {
    const seen = new Set<MemorySession>()
    let root: MemorySession | undefined = session
    while (root && !seen.has(root)) {
      seen.add(root)
      root = root.parent === undefined ? undefined : sessions.get(root.parent)
    }
    return [...seen].at(-1)!
  }

  function changed(session: MemorySession): void {
    const { id, parent, summary, inbox } = session
    index.set({ id, parent, record: summary, mail: mailIn(inbox) })
    for (const listener of [...(watchers.get(id) ?? [])]) listener()
  }

  function remove(id: string): void {
    const children = index.childrenOf(id)
    sessions.delete(id)
    index.delete(id)
    for (const listener of [...(watchers.get(id) ?? [])]) listener()
    for (const child of children) remove(child)
  }

  /** Gives a fork the entries and blobs of its original. Both are immutable, so nothing is copied but references. */
  function share(fork: MemorySession, base: string, head: number): void {
    const original = existing(base)
    if (original.entries.length < head)
      throw new RangeError(`Session ${base} has ${original.entries.length} entries; a fork cannot share ${head}`)
    fork.entries = original.entries.slice(0, head)
    const isAll = original.entries.length === head
    fork.summary = isAll ? original.summary : applyEntries(emptySummary, fork.entries, sizeOf(fork.entries))
    fork.sharedBlobs = new Map([...original.sharedBlobs, ...original.blobs])
  }

  function changeOf(id: string, signal: AbortSignal): Promise<void> {
    const listeners = watchers.get(id) ?? new Set()
    watchers.set(id, listeners)
    return new Promise((resolve) => {
      const done = (): void => {
        listeners.delete(done)
        if (listeners.size === 0) watchers.delete(id)
        signal.removeEventListener('abort', done)
        resolve()
      }
      listeners.add(done)
      signal.addEventListener('abort', done)
    })
  }

  return {
    async append(id, entries, { epoch, head, holder = id, parent, base }) {
      const leased = sessions.get(holder)
      if (!leased?.epoch || leased.epoch !== epoch) throw leaseLost(holder, leased?.owner)
      const session = sessions.get(id) ?? newSession(id)
      if (base !== undefined && session.entries.length === 0) share(session, base, head)
      if (session.entries.length !== head) {
        if (entries.every((entry, i) => session.entries[head + i]?.id === entry.id)) return
        throw headMoved(id, session.entries.length, head)
      }
      sessions.set(id, session)
      session.parent = parent ?? session.parent
      for (const entry of entries) session.entries.push(entry)
      session.summary = applyEntries(session.summary, entries, sizeOf(entries))
      for (const entry of entries)
        if ('clientKey' in entry && entry.clientKey) removeFromInbox(session, entry.clientKey)
      changed(session)
    },

    async read(id, range) {
      return entriesInRange(sessions.get(id)?.entries ?? [], range)
    },

    find: async (id) => index.find(id),

    list: async (query) => index.page(query),

    delete: async (id) => remove(id),

    async lease(id, { owner, ttlMs, epoch, takeOver = false, create = false }) {
      const now = clock.now()
      if (epoch === undefined) {
        const session = create ? (sessions.get(id) ?? newSession(id)) : existing(id)
        const isHeld = session.expires > now && session.owner !== owner
        if (isHeld && !takeOver) throw sessionBusy(id, session.owner, session.since)
        sessions.set(id, session)
        Object.assign(session, { epoch: ++epochs, owner, since: now, expires: now + ttlMs })
        return leaseOf(session)
      }
      const session = sessions.get(id)
      if (session?.epoch !== epoch) throw leaseLost(id, session?.owner)
      session.expires = ttlMs === 0 ? 0 : now + ttlMs
      // A session that was never written is gone with its lease, unless a message waits for it.
      if (ttlMs === 0 && session.entries.length === 0 && session.inbox.length === 0) remove(id)
      return leaseOf(session)
    },

    async send(id, item) {
      const session = existing(id)
      if (session.sent.has(item.clientKey)) return
      session.sent.add(item.clientKey)
      session.inbox.push(item)
      changed(session)
    },

    async *watch(id, { after = 0, signal, inboxOnly = false, once = false }) {
      const shown = new Set<string>()
      let seen = after
      while (!signal.aborted) {
        const { entries = [], inbox = [] } = sessions.get(id) ?? {}
        if (!inboxOnly && seen > entries.length) throw new SessionNotFoundError(id)
        const change: StoreChange = {
          entries: inboxOnly ? [] : entries.slice(seen),
          inbox: inbox.filter((item) => !shown.has(item.clientKey)),
        }
        seen += change.entries.length
        for (const item of change.inbox) shown.add(item.clientKey)
        if (change.entries.length > 0 || change.inbox.length > 0) yield change
        else if (once) return
        else await changeOf(id, signal)
      }
    },

    blobs: (id) => blobsOf(() => sessions.get(id), id),
  }
}

function newSession(id: string): MemorySession {
  return {
    ...{ id, entries: [], summary: emptySummary, inbox: [], sent: new Set(), blobs: new Map(), sharedBlobs: new Map() },
    ...{ epoch: 0, owner: '', since: 0, expires: 0, parent: undefined },
  }
}

function leaseOf({ epoch, entries, inbox }: MemorySession) {
  return { epoch, head: entries.length, inbox: [...inbox] }
}

function sizeOf(entries: readonly LogEntry[]): number {
  return entries.reduce((sum, entry) => sum + approximateSize(entry), 0)
}

function removeFromInbox({ inbox, sent }: MemorySession, clientKey: string): void {
  sent.add(clientKey)
  const i = inbox.findIndex((item) => item.clientKey === clientKey)
  if (i >= 0) inbox.splice(i, 1)
}

function blobsOf(session: () => MemorySession | undefined, id: string): BlobStore {
  return {
    async put(bytes) {
      const copy = new Uint8Array(bytes)
      const name = await sha256Hex(copy)
      const { blobs } = session() ?? {}
      if (!blobs) throw new SessionNotFoundError(id)
      blobs.set(name, copy)
      return name
    },
    async get(name) {
      const { blobs, sharedBlobs } = session() ?? {}
      const bytes = blobs?.get(name) ?? sharedBlobs?.get(name)
      return bytes && new Uint8Array(bytes)
    },
    names: async () => [...(session()?.blobs.keys() ?? [])],
    async delete(name) {
      session()?.blobs.delete(name)
    },
  }
}
