import { messageOf, StoreError } from '../../core/errors.ts'
import type { LogEntry } from '../../core/log.ts'
import type { Lease, SessionStore } from '../../core/store.ts'
import { descendantsOf } from '../family.ts'
import { type ExportedSession, readExport, renameBlobs } from './read-export.ts'

export interface ImportOptions {
  /** The id in this store. Default: the id in the export. */
  readonly id?: string
}

export interface ImportedSession {
  readonly id: string
  /** The ids of all descendants. */
  readonly children: readonly string[]
  readonly entries: number
  /** The line at which the text was cut off; the lines before it were imported. Absent if it was complete. */
  readonly tornAt?: number
}

const leaseMs = 30_000

/**
 * Writes an export into a store, all or nothing, and never into an existing session. The entries stay unchanged,
 * including the keys of their calls, because external effects were done under these keys.
 *
 * The root session is written last, in one append. Until then it has no entries, so readers do not see it. If an import is
 * killed before that point, the next import of the same id removes what it left.
 */
export async function importSession(
  store: SessionStore,
  text: string | AsyncIterable<string>,
  options: ImportOptions = {},
): Promise<ImportedSession> {
  const { sessions, tornAt } = await readExport(text)
  const [root, ...children] = sessions
  if (!root) throw new Error('The export is empty')
  const { id = root.id } = options
  const renamed = new Map(sessions.map((session) => [session.id, nameBelow(session.id, root.id, id)]))
  const owner = `import#${crypto.randomUUID()}`
  const { epoch } = await takeEmpty(store, id, [...renamed.values()], owner)
  const renew = (ttlMs: number): Promise<unknown> => store.lease(id, { owner, ttlMs, epoch })
  try {
    for (const session of [...children, root]) {
      const name = renamed.get(session.id) as string
      const parent = session.parent === undefined ? undefined : renamed.get(session.parent)
      // Blobs need a session that exists, and a child does not exist before its first entry.
      const isEarly = parent !== undefined && session.blobs.size > 0
      const early = isEarly ? await store.lease(name, { owner, ttlMs: leaseMs, create: true }) : undefined
      const entries = await entriesFor(store, name, session, renamed)
      await renew(leaseMs)
      const guard = parent === undefined ? { epoch } : { epoch, holder: id, parent }
      await store.append(name, entries, { ...guard, head: 0 })
      if (early) await store.lease(name, { owner, ttlMs: 0, epoch: early.epoch })
    }
  } catch (error) {
    throw await undone(store, id, error)
  }
  await renew(0).catch(() => {}) // everything is written; a lease that is not released expires
  return {
    id,
    children: children.map((session) => renamed.get(session.id) as string),
    entries: sessions.reduce((sum, session) => sum + session.entries.length, 0),
    ...(tornAt !== undefined && { tornAt }),
  }
}

/** The id of a child begins with that of its parent. */
function nameBelow(id: string, oldRoot: string, newRoot: string): string {
  if (id === oldRoot) return newRoot
  return id.startsWith(`${oldRoot}/`) ? newRoot + id.slice(oldRoot.length) : `${newRoot}/${id}`
}

/** Takes the lease of a session without entries, and removes the rest of an import that was killed. */
async function takeEmpty(store: SessionStore, id: string, ids: readonly string[], owner: string): Promise<Lease> {
  const leftovers = await unfinished(store, id)
  for (const wanted of ids) if (!leftovers.has(wanted) && (await store.find(wanted))) throw existing(wanted)
  const request = { owner, ttlMs: leaseMs, create: true }
  const acquired = await store.lease(id, request)
  if (acquired.head > 0 || acquired.inbox.length > 0) {
    await store.lease(id, { owner, ttlMs: 0, epoch: acquired.epoch })
    throw existing(id)
  }
  if (leftovers.size === 0) return acquired
  await store.delete(id)
  return store.lease(id, request)
}

/** The rest of a killed import: a session without entries and its descendants. Only an import writes children first. */
async function unfinished(store: SessionStore, id: string): Promise<Set<string>> {
  if (await store.find(id)) return new Set()
  return new Set((await descendantsOf(store, id)).map((session) => session.id))
}

const existing = (id: string): Error =>
  new Error(`Session "${id}" exists already; import it under another name with importSession(store, text, { id })`)

/** Removes what a failed import wrote. If that fails too, the error says what is left. */
async function undone(store: SessionStore, id: string, error: unknown): Promise<unknown> {
  try {
    await store.delete(id)
    return error
  } catch {
    const code = error instanceof StoreError ? error.code : 'unavailable'
    const advice =
      'No session was imported. Parts of it, which no list shows, could not be removed; the next import of this session removes them'
    return new StoreError(code, `${messageOf(error)}. ${advice}`, { cause: error })
  }
}

/** Stores the blobs before the entries that name them. */
async function entriesFor(
  store: SessionStore,
  id: string,
  { entries, blobs }: ExportedSession,
  renamed: ReadonlyMap<string, string>,
): Promise<readonly LogEntry[]> {
  const names = new Map<string, string>()
  for (const [name, bytes] of blobs) {
    const here = await store.blobs(id).put(bytes)
    if (here !== name) names.set(name, here)
  }
  const updated = entries.map((entry) => withRenamedParent(entry, renamed))
  return names.size === 0 ? updated : updated.map((entry) => renameBlobs(entry, names))
}

/** The first entry of a child's run names its parent session. */
function withRenamedParent(entry: LogEntry, renamed: ReadonlyMap<string, string>): LogEntry {
  if (entry.type !== 'run_started' || entry.parent?.session === undefined) return entry
  const session = renamed.get(entry.parent.session)
  return session === undefined ? entry : { ...entry, parent: { ...entry.parent, session } }
}
