import { SessionNotFoundError } from '../core/errors.ts'
import type { SessionStore } from '../core/store.ts'
import { toBase64 } from './bytes.ts'
import { descendantsOf } from './family.ts'
import { blobNamesIn, exportVersion } from './transfer/read-export.ts'

export { type ImportedSession, type ImportOptions, importSession } from './transfer/import-session.ts'

export interface ExportOptions {
  /** Also export the sessions of all descendants. Default true. */
  readonly children?: boolean
}

/**
 * A session as JSON Lines for `importSession`, yielded in pieces: a header, the unchanged entries, each after the blobs it
 * names, a section for each child, and an end line. It needs no lease: entries written meanwhile may be missing, but never
 * a part of an entry.
 */
export async function* exportSession(
  store: SessionStore,
  id: string,
  { children = true }: ExportOptions = {},
): AsyncGenerator<string, void> {
  const descendants = children ? await descendantsOf(store, id) : []
  if (!(await store.find(id))) throw new SessionNotFoundError(id)
  for (const [i, session] of [{ id }, ...descendants].entries()) {
    const entries = await store.read(session.id)
    const header = i === 0 ? { libero: 'session', version: exportVersion } : { libero: 'child' }
    const parent = 'parent' in session && i > 0 && { parent: session.parent }
    yield line({ ...header, id: session.id, ...parent, entries: entries.length })
    const written = new Set<string>()
    for (const entry of entries) {
      for (const name of blobNamesIn(entry)) {
        const bytes = written.has(name) ? undefined : await store.blobs(session.id).get(name)
        if (!bytes) continue
        written.add(name)
        yield line({ libero: 'blob', name, data: toBase64(bytes) })
      }
      yield line(entry)
    }
  }
  yield line({ libero: 'end', sessions: descendants.length + 1 })
}

const line = (value: object): string => `${JSON.stringify(value)}\n`
