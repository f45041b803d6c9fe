import { type Clock, systemClock } from '../core/clock.ts'
import { LeaseLostError, leaseLost, sessionBusy } from '../core/errors.ts'
import type { InboxItem, LogEntry } from '../core/log.ts'
import type { SessionStore, StoreChange } from '../core/store.ts'

interface Kept {
  /** Watching a session does not bring it into being. */
  exists: boolean
  readonly entries: LogEntry[]
  readonly inbox: InboxItem[]
  /** Every key that was ever sent or written, so that sending again stays harmless after delivery. */
  readonly sent: Set<string>
  readonly blobs: Map<string, Uint8Array>
  readonly watchers: Set<() => void>
  epoch: number
  owner: string
  since: number
  expires: number
  parent?: string
}

/** Sessions for the life of the process. Entries are kept by reference: committed entries are frozen. */
export function createMemoryStore({ clock = systemClock }: { clock?: Clock } = {}): SessionStore {
  const sessions = new Map<string, Kept>()
  let epochs = 0 // over all sessions, so that one deleted and made anew fences off its old writer

  function keptOf(id: string): Kept {
    let kept = sessions.get(id)
    if (!kept) {
      kept = {
        exists: false,
        entries: [],
        inbox: [],
        sent: new Set(),
        blobs: new Map(),
        watchers: new Set(),
        epoch: 0,
        owner: '',
        since: 0,
        expires: 0,
      }
      sessions.set(id, kept)
    }
    return kept
  }

  function remove(id: string): void {
    sessions.delete(id)
    for (const [child, { parent }] of [...sessions]) if (parent === id) remove(child)
  }

  return {
    async append(id, entries, { epoch, head, holder, parent }) {
      const guard = sessions.get(holder ?? id)
      if (!guard?.epoch || guard.epoch !== epoch) throw leaseLost(holder ?? id, guard?.owner)
      const kept = keptOf(id)
      if (kept.entries.length !== head) {
        if (entries.every((entry, i) => kept.entries[head + i]?.id === entry.id)) return
        throw new LeaseLostError(`Session ${id} has moved on to entry ${kept.entries.length}, expected ${head}`)
      }
      kept.exists = true
      if (parent !== undefined) kept.parent = parent
      for (const entry of entries) kept.entries.push(entry)
      for (const entry of entries) if ('clientKey' in entry && entry.clientKey) take(kept, entry.clientKey)
      wake(kept)
    },

    async read(id, after = 0) {
      return sessions.get(id)?.entries.slice(after) ?? []
    },

    async list() {
      return [...sessions].flatMap(([id, { exists, entries, parent }]) =>
        exists ? [{ id, head: entries.length, ...timesOf(entries), ...(parent !== undefined && { parent }) }] : [],
      )
    },

    async delete(id) {
      remove(id)
    },

    async lease(id, { owner, ttlMs, epoch, takeOver = false }) {
      const kept = keptOf(id)
      if (epoch !== undefined) {
        if (kept.epoch !== epoch) throw leaseLost(id, kept.owner)
      } else {
        const isHeld = kept.expires > clock.now() && kept.owner !== owner
        if (isHeld && !takeOver) throw sessionBusy(id, kept.owner, kept.since)
        kept.epoch = ++epochs
        kept.exists = true
        kept.owner = owner
        kept.since = clock.now()
      }
      kept.expires = ttlMs === 0 ? 0 : clock.now() + ttlMs
      return { epoch: kept.epoch, head: kept.entries.length, inbox: [...kept.inbox] }
    },

    async send(id, item) {
      const kept = keptOf(id)
      if (kept.sent.has(item.clientKey)) return
      kept.exists = true
      kept.sent.add(item.clientKey)
      kept.inbox.push(item)
      wake(kept)
    },

    async *watch(id, { after = 0, signal }) {
      const kept = keptOf(id)
      const shown = new Set<string>()
      let seen = after
      while (!signal.aborted) {
        const change: StoreChange = {
          entries: kept.entries.slice(seen),
          inbox: kept.inbox.filter((item) => !shown.has(item.clientKey)),
        }
        seen += change.entries.length
        for (const item of change.inbox) shown.add(item.clientKey)
        if (change.entries.length > 0 || change.inbox.length > 0) yield change
        else await changeOf(kept, signal)
      }
    },

    blobs(id) {
      const { blobs } = keptOf(id)
      return {
        async put(bytes) {
          const digest = await crypto.subtle.digest('SHA-256', new Uint8Array(bytes))
          const name = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
          blobs.set(name, new Uint8Array(bytes))
          return name
        },
        async get(name) {
          const bytes = blobs.get(name)
          return bytes && new Uint8Array(bytes)
        },
      }
    },
  }
}

const timesOf = (entries: readonly LogEntry[]): { createdAt?: number; updatedAt?: number } =>
  entries.length === 0 ? {} : { createdAt: entries[0]!.at, updatedAt: entries.at(-1)!.at }

function take({ inbox, sent }: Kept, clientKey: string): void {
  sent.add(clientKey)
  const i = inbox.findIndex((item) => item.clientKey === clientKey)
  if (i >= 0) inbox.splice(i, 1)
}

function wake({ watchers }: Kept): void {
  for (const watcher of [...watchers]) watcher()
}

function changeOf({ watchers }: Kept, signal: AbortSignal): Promise<void> {
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
