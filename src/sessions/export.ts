import type { SessionInfo, SessionStore } from '../core/store.ts'
import { withSpill } from './spill.ts'
import { blobNamesIn, exportVersion, toBase64 } from './transfer/lines.ts'

export { type ImportedSession, type ImportOptions, importSession } from './transfer/import-session.ts'

export interface ExportOptions {
  /** With the sessions of its children, and of theirs. Default true. */
  readonly children?: boolean
}

/**
 * A session as JSON Lines that `importSession` reads in any store, a piece of text at a time: a header, the entries as
 * they are, the blobs they name before them, a section for each child, and an end. It needs no lease: what is written
 * while it reads may be missing, but never a part of an entry.
 */
export async function* exportSession(
  store: SessionStore,
  id: string,
  { children = true }: ExportOptions = {},
): AsyncGenerator<string, void> {
  const whole = withSpill(store)
  const all = await store.list()
  const family = children ? descendantsOf(id, all) : []
  if ((await store.read(id)).length === 0)
    throw new Error(`There is no session "${id}" in this store to export; list() names those it has`)
  for (const [i, session] of [{ id }, ...family].entries()) {
    const entries = await whole.read(session.id)
    const about = i === 0 ? { libero: 'session', version: exportVersion } : { libero: 'child' }
    const parent = 'parent' in session && { parent: session.parent }
    yield line({ ...about, id: session.id, ...parent, entries: entries.length })
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
  yield line({ libero: 'end', sessions: family.length + 1 })
}

const line = (value: object): string => `${JSON.stringify(value)}\n`

/** Parents before their children. */
function descendantsOf(id: string, all: readonly SessionInfo[]): SessionInfo[] {
  const children = Map.groupBy(all, ({ parent }) => parent)
  const found: SessionInfo[] = []
  const parents = [id]
  for (const parent of parents)
    for (const child of children.get(parent) ?? []) {
      found.push(child)
      parents.push(child.id)
    }
  return found
}
