import { SessionNotFoundError } from '../core/errors.ts'
import type { SessionStore, SessionSummary } from '../core/store.ts'
import { toBase64 } from './bytes.ts'
import { descendantsOf } from './family.ts'
import { eachEntry } from './history.ts'
import { blobNamesIn, exportVersion } from './transfer/read-export.ts'

export { importSession } from './transfer/import-session.ts'

/**
 * A session as JSON Lines for `importSession`, yielded in pieces: a header, the unchanged entries, each after the blobs it
 * names, a section for each child, and an end line. It needs no lease: entries written meanwhile may be missing, but never
 * a part of an entry. Entries are read in pages, so that memory does not grow with the session.
 */
export async function* exportSession(
  store: SessionStore,
  id: string,
  {
    children = true,
  }: {
    /** Also export the sessions of all descendants. Default true. */
    readonly children?: boolean
  } = {},
): AsyncGenerator<string, void> {
  const root = await store.find(id)
  if (!root) throw new SessionNotFoundError(id)
  const descendants = children ? await descendantsOf(store, id) : []
  for (const session of [root, ...descendants]) {
    const header = session === root ? { libero: 'session', version: exportVersion } : { libero: 'child' }
    const parent = session !== root && { parent: session.parent }
    yield line({ ...header, id: session.id, ...parent, entries: session.head })
    yield* linesOf(store, session)
  }
  yield line({ libero: 'end', sessions: descendants.length + 1 })
}

/** The entries that a session had when the export began. */
async function* linesOf(store: SessionStore, { id, head }: SessionSummary): AsyncGenerator<string, void> {
  const written = new Set<string>()
  for await (const entry of eachEntry(store, id, { before: head + 1 })) {
    for (const name of blobNamesIn(entry)) {
      const bytes = written.has(name) ? undefined : await store.blobs(id).get(name)
      if (!bytes) continue
      written.add(name)
      yield line({ libero: 'blob', name, data: toBase64(bytes) })
    }
    yield line(entry)
  }
}

const line = (value: object): string => `${JSON.stringify(value)}\n`
