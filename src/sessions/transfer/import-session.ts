import { messageOf, StoreError } from '../../core/errors.ts'
import type { LogEntry } from '../../core/log.ts'
import type { Lease, SessionInfo, SessionStore } from '../../core/store.ts'
import { withSpill } from '../spill.ts'
import { renameBlobs } from './lines.ts'
import { type ExportedSession, readExport } from './read-export.ts'

export interface ImportOptions {
  /** What it is to be called here. Default: as it was called where it comes from. */
  readonly id?: string
}

export interface ImportedSession {
  readonly id: string
  /** The ids of its children, and of theirs. */
  readonly children: readonly string[]
  readonly entries: number
  /** The line at which the text was cut off; what is before it was imported. Absent when it was whole. */
  readonly tornAt?: number
}

const leaseMs = 30_000

/**
 * Writes an export into a store, all of it or nothing, and never into a session that is there. The entries stay as
 * they are, the keys of their calls too: what was done in the world outside was done under these.
 *
 * The session at the top is written last, in one append. Until then it has no entries and so is no session for readers;
 * what an import left that was killed before that point is removed by the next import of the same id.
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
      const entries = await entriesFor(store, name, session, renamed)
      await renew(leaseMs)
      const guard = parent === undefined ? { epoch } : { epoch, holder: id, parent }
      await withSpill(store).append(name, entries, { ...guard, head: 0 })
    }
  } catch (error) {
    throw await undone(store, id, error)
  }
  await renew(0).catch(() => {}) // it is all there; a lease that is not given back ends by itself
  return {
    id,
    children: children.map((session) => renamed.get(session.id) as string),
    entries: sessions.reduce((sum, session) => sum + session.entries.length, 0),
    ...(tornAt !== undefined && { tornAt }),
  }
}

/** A child is named after its parent. */
function nameBelow(id: string, oldRoot: string, newRoot: string): string {
  if (id === oldRoot) return newRoot
  return id.startsWith(`${oldRoot}/`) ? newRoot + id.slice(oldRoot.length) : `${newRoot}/${id}`
}

/** The right to write a session that has no entries yet, without what an import left that was killed. */
async function takeEmpty(store: SessionStore, id: string, ids: readonly string[], owner: string): Promise<Lease> {
  const all = await store.list()
  const left = unfinished(all, id)
  for (const one of ids)
    if (!left.has(one) && (all.some((session) => session.id === one) || (await store.read(one)).length > 0))
      throw existing(one)
  const request = { owner, ttlMs: leaseMs }
  const taken = await store.lease(id, request)
  if (taken.head > 0 || taken.inbox.length > 0) {
    await store.lease(id, { owner, ttlMs: 0, epoch: taken.epoch })
    throw existing(id)
  }
  if (left.size === 0) return taken
  await store.delete(id)
  return store.lease(id, request)
}

/** A session without entries, and its children: only an import writes those before their parent. */
function unfinished(all: readonly SessionInfo[], id: string): Set<string> {
  const left = new Set<string>()
  if (all.some((session) => session.id === id && session.head > 0)) return left
  for (const session of all) if (session.id === id) left.add(id)
  const parents = new Set([id])
  for (const parent of parents)
    for (const session of all)
      if (session.parent === parent) {
        left.add(session.id)
        parents.add(session.id)
      }
  return left
}

const existing = (id: string): Error =>
  new Error(`Session "${id}" exists already; import it under another name with importSession(store, text, { id })`)

/** Removes what was written of a failed import. Where that fails too, the error says what is left of it. */
async function undone(store: SessionStore, id: string, error: unknown): Promise<unknown> {
  try {
    await store.delete(id)
    return error
  } catch {
    const code = error instanceof StoreError ? error.code : 'unavailable'
    const left =
      'No session was imported. Parts of it, which no list shows, could not be removed; the next import of this session removes them'
    return new StoreError(code, `${messageOf(error)}. ${left}`, { cause: error })
  }
}

/** Blobs first: they are there before the entries that name them. */
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
  const adopted = entries.map((entry) => adoptedBy(entry, renamed))
  return names.size === 0 ? adopted : adopted.map((entry) => renameBlobs(entry, names))
}

/** A child's run says whose it is. */
function adoptedBy(entry: LogEntry, renamed: ReadonlyMap<string, string>): LogEntry {
  if (entry.type !== 'run_started' || entry.parent?.session === undefined) return entry
  const session = renamed.get(entry.parent.session)
  return session === undefined ? entry : { ...entry, parent: { ...entry.parent, session } }
}
