import { type Clock, systemClock } from '../core/clock.ts'
import { LeaseLostError, leaseLost, SessionNotFoundError, sessionBusy } from '../core/errors.ts'
import type { InboxItem, LogEntry } from '../core/log.ts'
import type { SessionStore, SessionSummary, StoreChange } from '../core/store.ts'
import { sha256Hex } from './bytes.ts'
import { entriesInRange, pageOf } from './session-query.ts'
import { emptyRecord, recordAfter, type SessionRecord, summaryOf } from './session-record.ts'

interface MemorySession {
  /** False while the session is only watched. */
  exists: boolean
  entries: LogEntry[]
  record: SessionRecord
  readonly inbox: InboxItem[]
  /** All keys that were ever sent or appended, so that a repeated message is ignored after delivery too. */
  readonly sent: Set<string>
  readonly blobs: Map<string, Uint8Array>
  readonly watchers: Set<() => void>
  epoch: number
  owner: string
  since: number
  expires: number
  parent?: string
}

/** Sessions in memory. Entries are kept by reference, because committed entries are frozen. */
export function createMemoryStore({ clock = systemClock }: { clock?: Clock } = {}): SessionStore {
  const sessions = new Map<string, MemorySession>()
  let epochs = 0 // over all sessions, so that a session that is deleted and created again fences off its old writer

  function sessionOf(id: string): MemorySession {
    let session = sessions.get(id)
    if (!session) {
      session = {
        exists: false,
        entries: [],
        record: emptyRecord,
        inbox: [],
        sent: new Set(),
        blobs: new Map(),
        watchers: new Set(),
        epoch: 0,
        owner: '',
        since: 0,
        expires: 0,
      }
      sessions.set(id, session)
    }
    return session
  }

  function summary(id: string, session: MemorySession | undefined): SessionSummary | undefined {
    if (!session || session.entries.length === 0) return undefined
    const { record, parent, inbox, expires } = session
    const holder = parent === undefined ? expires : rootOf(session).expires
    const isAnswered = inbox.some(({ mode }) => mode === 'answer')
    const mail = isAnswered ? 'answer' : inbox.length > 0 ? 'messages' : 'none'
    return summaryOf(record, { id, parent, isHeld: holder > clock.now(), mail })
  }

  /** A child is written under the lease of its root. */
  function rootOf(session: MemorySession): MemorySession {
    const above = session.parent === undefined ? undefined : sessions.get(session.parent)
    return above ? rootOf(above) : session
  }

  function remove(id: string): void {
    sessions.delete(id)
    for (const [child, { parent }] of [...sessions]) if (parent === id) remove(child)
  }

  return {
    async append(id, entries, { epoch, head, holder, parent, base }) {
      const leased = sessions.get(holder ?? id)
      if (!leased?.epoch || leased.epoch !== epoch) throw leaseLost(holder ?? id, leased?.owner)
      const session = sessionOf(id)
      if (base !== undefined && session.entries.length === 0) share(session, sessions.get(base), head)
      if (session.entries.length !== head) {
        if (entries.every((entry, i) => session.entries[head + i]?.id === entry.id)) return
        throw new LeaseLostError(`Session ${id} has moved on to entry ${session.entries.length}, expected ${head}`)
      }
      session.exists = true
      if (parent !== undefined) session.parent = parent
      for (const entry of entries) session.entries.push(entry)
      session.record = recordAfter(session.record, entries, 0)
      for (const entry of entries) if ('clientKey' in entry && entry.clientKey) markDelivered(session, entry.clientKey)
      notify(session)
    },

    async read(id, range) {
      return entriesInRange(sessions.get(id)?.entries ?? [], range)
    },

    async find(id) {
      return summary(id, sessions.get(id))
    },

    async list(query) {
      return pageOf(
        [...sessions].flatMap(([id, session]) => summary(id, session) ?? []),
        query,
      )
    },

    async delete(id) {
      remove(id)
    },

    async lease(id, { owner, ttlMs, epoch, takeOver = false, create = false }) {
      if (!create && epoch === undefined && !sessions.get(id)?.exists) throw new SessionNotFoundError(id)
      const session = sessionOf(id)
      if (epoch !== undefined) {
        if (session.epoch !== epoch) throw leaseLost(id, session.owner)
      } else {
        const isHeld = session.expires > clock.now() && session.owner !== owner
        if (isHeld && !takeOver) throw sessionBusy(id, session.owner, session.since)
        session.epoch = ++epochs
        session.exists = true
        session.owner = owner
        session.since = clock.now()
      }
      session.expires = ttlMs === 0 ? 0 : clock.now() + ttlMs
      return { epoch: session.epoch, head: session.entries.length, inbox: [...session.inbox] }
    },

    async send(id, item) {
      const session = sessions.get(id)
      if (!session?.exists) throw new SessionNotFoundError(id)
      if (session.sent.has(item.clientKey)) return
      session.sent.add(item.clientKey)
      session.inbox.push(item)
      notify(session)
    },

    async *watch(id, { after = 0, signal, inboxOnly = false }) {
      const session = sessionOf(id)
      const shown = new Set<string>()
      let seen = after
      while (!signal.aborted) {
        const change: StoreChange = {
          entries: inboxOnly ? [] : session.entries.slice(seen),
          inbox: session.inbox.filter((item) => !shown.has(item.clientKey)),
        }
        seen += change.entries.length
        for (const item of change.inbox) shown.add(item.clientKey)
        if (change.entries.length > 0 || change.inbox.length > 0) yield change
        else await changeOf(session, signal)
      }
    },

    blobs(id) {
      const { blobs } = sessionOf(id)
      return {
        async put(bytes) {
          const copy = new Uint8Array(bytes)
          const name = await sha256Hex(copy)
          blobs.set(name, copy)
          return name
        },
        async get(name) {
          const bytes = blobs.get(name)
          return bytes && new Uint8Array(bytes)
        },
        names: async () => [...blobs.keys()],
        async delete(name) {
          blobs.delete(name)
        },
      }
    },
  }
}

/** Gives a fork the entries and blobs of its original. Both are immutable, so nothing is copied but references. */
function share(fork: MemorySession, original: MemorySession | undefined, head: number): void {
  if (!original || original.entries.length < head) return
  fork.entries = original.entries.slice(0, head)
  fork.record = recordAfter(emptyRecord, fork.entries, 0)
  for (const [name, bytes] of original.blobs) fork.blobs.set(name, bytes)
}

function markDelivered({ inbox, sent }: MemorySession, clientKey: string): void {
  sent.add(clientKey)
  const i = inbox.findIndex((item) => item.clientKey === clientKey)
  if (i >= 0) inbox.splice(i, 1)
}

function notify({ watchers }: MemorySession): void {
  for (const watcher of [...watchers]) watcher()
}

function changeOf({ watchers }: MemorySession, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      watchers.delete(done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    watchers.add(done)
    signal.addEventListener('abort', done)
  })
}
