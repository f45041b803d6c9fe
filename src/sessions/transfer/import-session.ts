import type { LogEntry } from '../../core/log.ts'
import type { Fence, SessionStore } from '../../core/store.ts'
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
const batch = 500

/**
 * Writes an export into a store, all of it or nothing, and never into a session that is there. The entries stay as
 * they are, the keys of their calls too: what was done in the world outside was done under these.
 */
export async function importSession(
  store: SessionStore,
  text: string | AsyncIterable<string>,
  options: ImportOptions = {},
): Promise<ImportedSession> {
  const { sessions, tornAt } = await readExport(text)
  const [root] = sessions
  if (!root) throw new Error('The export is empty')
  const { id = root.id } = options
  const renamed = new Map(sessions.map((session) => [session.id, nameBelow(session.id, root.id, id)]))
  await refuseExisting(store, [...renamed.values()])
  const owner = `import#${crypto.randomUUID()}`
  const { epoch, head } = await store.lease(id, { owner, ttlMs: leaseMs })
  const release = (ttlMs = 0): Promise<unknown> => store.lease(id, { owner, ttlMs, epoch })
  if (head > 0) {
    await release()
    throw existing(id)
  }
  try {
    for (const session of sessions) {
      const name = renamed.get(session.id) as string
      const parent = session.parent === undefined ? undefined : renamed.get(session.parent)
      const guard = parent === undefined ? { epoch } : { epoch, holder: id, parent }
      await write(store, name, await entriesFor(store, name, session, renamed), guard, () => release(leaseMs))
    }
  } catch (error) {
    await store.delete(id).catch(() => {}) // what failed is worth more than what failed after it
    throw error
  }
  await release().catch(() => {}) // it is all there; a lease that is not given back ends by itself
  return {
    id,
    children: sessions.slice(1).map((session) => renamed.get(session.id) as string),
    entries: sessions.reduce((sum, session) => sum + session.entries.length, 0),
    ...(tornAt !== undefined && { tornAt }),
  }
}

/** A child is named after its parent. */
function nameBelow(id: string, oldRoot: string, newRoot: string): string {
  if (id === oldRoot) return newRoot
  return id.startsWith(`${oldRoot}/`) ? newRoot + id.slice(oldRoot.length) : `${newRoot}/${id}`
}

async function refuseExisting(store: SessionStore, ids: readonly string[]): Promise<void> {
  const known = new Set((await store.list()).map((session) => session.id))
  for (const id of ids) if (known.has(id) || (await store.read(id)).length > 0) throw existing(id)
}

const existing = (id: string): Error =>
  new Error(`Session "${id}" exists already; import it under another name with importSession(store, text, { id })`)

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

async function write(
  store: SessionStore,
  id: string,
  entries: readonly LogEntry[],
  guard: Omit<Fence, 'head'>,
  renew: () => Promise<unknown>,
): Promise<void> {
  for (let head = 0; head < entries.length; head += batch) {
    if (head > 0) await renew()
    await withSpill(store).append(id, entries.slice(head, head + batch), { ...guard, head })
  }
}
