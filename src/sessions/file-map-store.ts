import { type Clock, systemClock } from '../core/clock.ts'
import { LeaseLostError, leaseLost, sessionBusy } from '../core/errors.ts'
import type { LogEntry } from '../core/log.ts'
import { failpoint } from '../core/log.ts'
import type { SessionStore, StoreChange } from '../core/store.ts'
import { type AdapterFiles, adapterFiles, type FileMapAdapter } from './file-map/adapter-files.ts'
import { blobsOf } from './file-map/blobs.ts'
import { type Kept, KeptSessions } from './file-map/kept-sessions.ts'
import { turnsPath } from './file-map/session-paths.ts'
import { createTurnTaking } from './file-map/turn-taking.ts'
import { entriesAfter, keyOf, textOf } from './file-map/turns-text.ts'

export type { FileMapAdapter } from './file-map/adapter-files.ts'

/** What all stores over one adapter share, as the adapter itself cannot keep two writers apart. */
interface Shared {
  readonly files: AdapterFiles
  readonly sessions: KeptSessions
  readonly alone: ReturnType<typeof createTurnTaking>
  readonly watchers: Map<string, Set<() => void>>
}

const sharedBy = new WeakMap<FileMapAdapter, Shared>()

/**
 * Sessions in anything that can get, save and delete texts by name: per session `turns.jsonl`, an entry a line, and
 * `meta.json`. For one process only: leases and fences hold between all stores over the same adapter object, but what
 * another process does at the same place is not noticed, and overwritten. An append saves the turns first and then the
 * meta, whose `head` says how many of them count.
 */
export function createFileMapStore(
  adapter: FileMapAdapter,
  { clock = systemClock }: { clock?: Clock } = {},
): SessionStore {
  const { files, sessions, alone, watchers } = sharedOf(adapter)

  function wake(id: string): void {
    for (const watcher of [...(watchers.get(id) ?? [])]) watcher()
  }

  async function read(id: string, after = 0): Promise<LogEntry[]> {
    const kept = await sessions.of(id)
    return entriesAfter((await sessions.log(kept)).text, after, turnsPath(id))
  }

  return {
    isOneProcess: true,

    append: (id, entries, { epoch, head, holder = id, parent }) =>
      alone([holder, id], async () => {
        const guard = await sessions.of(holder)
        if (guard.epoch === 0 || guard.epoch !== epoch) throw leaseLost(holder, guard.meta.owner)
        const kept = await sessions.of(id)
        const { text, keys } = await sessions.log(kept)
        if (kept.meta.head !== head) {
          const there = entriesAfter(text, head, turnsPath(id))
          if (entries.every((entry, i) => there[i]?.id === entry.id)) return
          throw new LeaseLostError(`Session ${id} has moved on to entry ${kept.meta.head}, expected ${head}`)
        }
        checkNumbers(id, entries, head)
        sessions.checkWritable(kept)
        const longer = text + textOf(entries)
        const taken = new Set(entries.flatMap((entry) => keyOf(entry) ?? []))
        failpoint('filemap.append.beforeTurns', entries)
        await files.save(turnsPath(id), longer)
        failpoint('filemap.append.beforeMeta', entries)
        await sessions.change(kept, {
          exists: true,
          head: head + entries.length,
          inbox: kept.meta.inbox.filter(({ clientKey }) => !taken.has(clientKey)),
          ...(parent !== undefined && { parent }),
          ...timesOf(kept, entries),
        })
        kept.log = { text: longer, keys: new Set([...keys, ...taken]) }
        wake(id)
      }),

    read,

    async list() {
      const all = await Promise.all((await sessions.ids()).map((id) => sessions.of(id)))
      return all.flatMap(({ meta: { exists, id, head, parent, createdAt, updatedAt } }) => {
        const times = { ...(createdAt !== undefined && { createdAt }), ...(updatedAt !== undefined && { updatedAt }) }
        return exists ? [{ id, head, ...times, ...(parent !== undefined && { parent }) }] : []
      })
    },

    delete: (id) =>
      alone([id], async () => {
        await sessions.delete(id)
        wake(id)
      }),

    lease: (id, { owner, ttlMs, epoch, takeOver = false }) =>
      alone([id], async () => {
        const kept = await sessions.of(id)
        if (epoch !== undefined) {
          if (kept.epoch !== epoch) throw leaseLost(id, kept.meta.owner)
        } else {
          const isHeld = kept.expires > clock.now() && kept.meta.owner !== owner
          if (isHeld && !takeOver) throw sessionBusy(id, kept.meta.owner, kept.since)
          const raised = sessions.epochs + 1
          sessions.epochs = raised // now: another session may be taken while this is being saved
          await sessions.change(kept, { exists: true, epoch: raised, owner })
          kept.epoch = raised
          kept.since = clock.now()
        }
        kept.expires = ttlMs === 0 ? 0 : clock.now() + ttlMs
        return { epoch: kept.epoch, head: kept.meta.head, inbox: kept.meta.inbox }
      }),

    send: (id, item) =>
      alone([id], async () => {
        const kept = await sessions.of(id)
        const { inbox } = kept.meta
        if (inbox.some(({ clientKey }) => clientKey === item.clientKey)) return
        if ((await sessions.log(kept)).keys.has(item.clientKey)) return
        await sessions.change(kept, { exists: true, inbox: [...inbox, item] })
        wake(id)
      }),

    async *watch(id, { after = 0, signal }) {
      let shown: ReadonlySet<string> = new Set()
      let seen = after
      while (!signal.aborted) {
        const changed = changeOf(watchers, id, signal) // before looking, so that nothing falls between
        const { meta } = await sessions.of(id)
        const inbox = meta.inbox.filter(({ clientKey }) => !shown.has(clientKey))
        const change: StoreChange = { entries: meta.head > seen ? await read(id, seen) : [], inbox }
        seen += change.entries.length
        shown = new Set(meta.inbox.map(({ clientKey }) => clientKey)) // one that left never comes back
        if (signal.aborted) return
        if (change.entries.length > 0 || inbox.length > 0) yield change
        else await changed
      }
    },

    blobs: (id) => blobsOf(id, { files, sessions, alone }),
  }
}

function sharedOf(adapter: FileMapAdapter): Shared {
  let shared = sharedBy.get(adapter)
  if (!shared) {
    const files = adapterFiles(adapter)
    shared = { files, sessions: new KeptSessions(files), alone: createTurnTaking(), watchers: new Map() }
    sharedBy.set(adapter, shared)
  }
  return shared
}

function checkNumbers(id: string, entries: readonly LogEntry[], head: number): void {
  const wrong = entries.find(({ seq }, i) => seq !== head + i + 1)
  if (wrong) throw new RangeError(`Entry ${wrong.id} of session ${id} has seq ${wrong.seq}, but ${head} are written`)
}

function timesOf({ meta }: Kept, entries: readonly LogEntry[]): { createdAt?: number; updatedAt?: number } {
  const [first, last] = [entries[0], entries.at(-1)]
  if (!first || !last) return {}
  return { createdAt: meta.createdAt ?? first.at, updatedAt: last.at }
}

function changeOf(watchers: Shared['watchers'], id: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const waiting = watchers.get(id) ?? new Set()
    const done = (): void => {
      waiting.delete(done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    watchers.set(id, waiting.add(done))
    signal.addEventListener('abort', done)
  })
}
