import { type Clock, systemClock } from '../core/clock.ts'
import { LeaseLostError, leaseLost, SessionNotFoundError, StoreError, sessionBusy } from '../core/errors.ts'
import { failpoint, type LogEntry } from '../core/log.ts'
import type { BlobStore, EntryRange, SessionStore, StoreChange } from '../core/store.ts'
import { fromBase64, sha256Hex, toBase64 } from './bytes.ts'
import {
  type AdapterFiles,
  adapterFiles,
  blobPath,
  entriesAfter,
  type FileMapAdapter,
  keyOf,
  textOf,
  turnsPath,
} from './file-map/adapter-files.ts'
import { type CachedSession, CachedSessions, createLocks } from './file-map/cached-sessions.ts'
import { readSummary } from './read-summaries.ts'
import { entriesInRange, pageOf } from './session-query.ts'
import { type SpilledBlob, type SpillingStore, withSpill } from './spill.ts'

export type { FileMapAdapter } from './file-map/adapter-files.ts'

/** Shared by all stores over one adapter, because the adapter itself cannot exclude a second writer. */
interface Shared {
  readonly files: AdapterFiles
  readonly sessions: CachedSessions
  readonly withLocks: ReturnType<typeof createLocks>
  readonly watchers: Map<string, Set<() => void>>
}

const sharedBy = new WeakMap<FileMapAdapter, Shared>()

/**
 * Sessions in anything that can get, save and delete texts by name: per session `turns.jsonl`, one entry per line, and
 * `meta.json`. For one process only: leases and fences work between all stores over the same adapter object, but changes of
 * another process are not noticed, and overwritten. An append saves the turns first and then the meta, whose `head` says
 * how many turns are valid.
 */
export function createFileMapStore(
  adapter: FileMapAdapter,
  { clock = systemClock }: { clock?: Clock } = {},
): SessionStore {
  const { files, sessions, withLocks, watchers } = sharedOf(adapter)

  function notify(id: string): void {
    for (const watcher of [...(watchers.get(id) ?? [])]) watcher()
  }

  async function read(id: string, after = 0): Promise<LogEntry[]> {
    const session = await sessions.of(id)
    return entriesAfter((await sessions.log(session)).text, after, turnsPath(id))
  }

  async function readRange(id: string, range: EntryRange = {}): Promise<readonly LogEntry[]> {
    return entriesInRange(await read(id, range.after), range, (range.after ?? 0) + 1)
  }

  return withSpill({
    isOneProcess: true,

    append: (id, entries, { epoch, head, holder = id, parent }, { blobs }) =>
      withLocks([holder, id], async () => {
        const leased = await sessions.of(holder)
        if (leased.epoch === 0 || leased.epoch !== epoch) throw leaseLost(holder, leased.meta.owner)
        const session = await sessions.of(id)
        const { text, keys } = await sessions.log(session)
        if (session.meta.head !== head) {
          const stored = entriesAfter(text, head, turnsPath(id))
          if (entries.every((entry, i) => stored[i]?.id === entry.id)) return
          throw new LeaseLostError(`Session ${id} has moved on to entry ${session.meta.head}, expected ${head}`)
        }
        checkNumbers(id, entries, head)
        sessions.checkWritable(session)
        await saveBlobs(session, blobs, { files, sessions })
        const longer = text + textOf(entries)
        const delivered = new Set(entries.flatMap((entry) => keyOf(entry) ?? []))
        failpoint('filemap.append.beforeTurns', entries)
        await files.save(turnsPath(id), longer)
        failpoint('filemap.append.beforeMeta', entries)
        await sessions.change(session, {
          exists: true,
          head: head + entries.length,
          inbox: session.meta.inbox.filter(({ clientKey }) => !delivered.has(clientKey)),
          ...(parent !== undefined && { parent }),
          ...timesOf(session, entries),
        })
        session.log = { text: longer, keys: new Set([...keys, ...delivered]) }
        notify(id)
      }),

    read: readRange,

    find: async (id) => readSummary({ read: readRange }, { id }),

    async list(query) {
      const all = await Promise.all((await sessions.ids()).map((id) => sessions.of(id)))
      const existing = all.flatMap(({ meta: { exists, id, parent } }) =>
        exists ? [{ id, ...(parent !== undefined && { parent }) }] : [],
      )
      const summaries = await Promise.all(existing.map((session) => readSummary({ read: readRange }, session)))
      return pageOf(
        summaries.filter((summary) => summary !== undefined),
        query,
      )
    },

    delete: (id) =>
      withLocks([id], async () => {
        await sessions.delete(id)
        notify(id)
      }),

    lease: (id, { owner, ttlMs, epoch, takeOver = false, create = false }) =>
      withLocks([id], async () => {
        const session = await sessions.of(id)
        if (!create && epoch === undefined && !session.meta.exists) throw new SessionNotFoundError(id)
        if (epoch !== undefined) {
          if (session.epoch !== epoch) throw leaseLost(id, session.meta.owner)
        } else {
          const isHeld = session.expires > clock.now() && session.meta.owner !== owner
          if (isHeld && !takeOver) throw sessionBusy(id, session.meta.owner, session.since)
          const raised = sessions.epochs + 1
          sessions.epochs = raised // before saving: another session may be leased meanwhile
          await sessions.change(session, { exists: true, epoch: raised, owner })
          session.epoch = raised
          session.since = clock.now()
        }
        session.expires = ttlMs === 0 ? 0 : clock.now() + ttlMs
        return { epoch: session.epoch, head: session.meta.head, inbox: session.meta.inbox }
      }),

    send: (id, item) =>
      withLocks([id], async () => {
        const session = await sessions.of(id)
        const { inbox, exists } = session.meta
        if (!exists) throw new SessionNotFoundError(id)
        if (inbox.some(({ clientKey }) => clientKey === item.clientKey)) return
        if ((await sessions.log(session)).keys.has(item.clientKey)) return
        await sessions.change(session, { inbox: [...inbox, item] })
        notify(id)
      }),

    async *watch(id, { after = 0, signal }) {
      let shown: ReadonlySet<string> = new Set()
      let seen = after
      while (!signal.aborted) {
        const changed = changeOf(watchers, id, signal) // before reading, so that no change is missed
        const { meta } = await sessions.of(id)
        const inbox = meta.inbox.filter(({ clientKey }) => !shown.has(clientKey))
        const change: StoreChange = { entries: meta.head > seen ? await read(id, seen) : [], inbox }
        seen += change.entries.length
        shown = new Set(meta.inbox.map(({ clientKey }) => clientKey)) // a key that left the inbox never comes back
        if (signal.aborted) return
        if (change.entries.length > 0 || inbox.length > 0) yield change
        else await changed
      }
    },

    blobs: (id) => blobsOf(id, sharedOf(adapter)),
  } satisfies SpillingStore)
}

function sharedOf(adapter: FileMapAdapter): Shared {
  let shared = sharedBy.get(adapter)
  if (!shared) {
    const files = adapterFiles(adapter)
    shared = { files, sessions: new CachedSessions(files), withLocks: createLocks(), watchers: new Map() }
    sharedBy.set(adapter, shared)
  }
  return shared
}

function checkNumbers(id: string, entries: readonly LogEntry[], head: number): void {
  const wrong = entries.find(({ seq }, i) => seq !== head + i + 1)
  if (wrong) throw new RangeError(`Entry ${wrong.id} of session ${id} has seq ${wrong.seq}, but ${head} are written`)
}

function timesOf({ meta }: CachedSession, entries: readonly LogEntry[]): { createdAt?: number; updatedAt?: number } {
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

/** Saves blobs as base64 texts. The meta names a blob before it is saved, so that it is deleted with the session. */
async function saveBlobs(
  session: CachedSession,
  blobs: readonly SpilledBlob[],
  { files, sessions }: Pick<Shared, 'files' | 'sessions'>,
): Promise<void> {
  const { meta } = session
  const added = blobs.map(({ name }) => name).filter((name) => !meta.blobs.includes(name))
  if (added.length > 0) await sessions.change(session, { blobs: [...meta.blobs, ...added] })
  for (const { name, bytes } of blobs) await files.save(blobPath(meta.id, name), toBase64(bytes))
}

function blobsOf(id: string, { files, sessions, withLocks }: Shared): BlobStore {
  return {
    async put(data) {
      const bytes = new Uint8Array(data)
      const name = await sha256Hex(bytes)
      await withLocks([id], async () => saveBlobs(await sessions.of(id), [{ name, bytes }], { files, sessions }))
      return name
    },

    async get(name) {
      const { meta } = await sessions.of(id)
      if (!meta.blobs.includes(name)) return undefined
      const path = blobPath(id, name)
      const text = await files.get(path)
      if (text === undefined) return undefined
      const bytes = fromBase64(text)
      if (!bytes) throw new StoreError('corrupt', `"${path}" is not valid base64; restore it from a backup`)
      if ((await sha256Hex(bytes)) === name) return bytes
      throw new StoreError('corrupt', `"${path}" is not what was put; restore it from a backup`)
    },

    names: async () => (await sessions.of(id)).meta.blobs,

    delete: (name) =>
      withLocks([id], async () => {
        const session = await sessions.of(id)
        if (!session.meta.blobs.includes(name)) return
        await files.delete(blobPath(id, name))
        await sessions.change(session, { blobs: session.meta.blobs.filter((blob) => blob !== name) })
      }),
  }
}
