import type { SessionInfo, SessionStore } from '../core/store.ts'

/** The lease under which a child session is written. */
export interface ParentLease {
  /** The root session of the tree, which holds the lease. */
  readonly holder: string
  readonly parent: string
}

/** A child that is opened on its own is written under the lease of its root too, so that two writers exclude each other. */
export async function parentLeaseOf(store: SessionStore, id: string): Promise<ParentLease | undefined> {
  if (!(await mayBeChild(store, id))) return undefined // before the list, which may be long
  const parents = new Map((await store.list()).map(({ id, parent }) => [id, parent]))
  const parent = parents.get(id)
  if (parent === undefined) return undefined
  let holder = parent
  for (let above = parents.get(holder); above !== undefined; above = parents.get(holder)) holder = above
  return { holder, parent }
}

/** The id of a child begins with that of its parent. Another id with a slash may look alike, but then no such parent exists. */
async function mayBeChild(store: SessionStore, id: string): Promise<boolean> {
  for (let end = id.indexOf('/'); end >= 0; end = id.indexOf('/', end + 1)) {
    const above = await store.read(id.slice(0, end)).catch(() => undefined)
    if (above?.length !== 0) return true // a session that cannot be read exists
  }
  return false
}

/** The names of a session's own children. */
export async function childNames(store: SessionStore, id: string): Promise<Set<string>> {
  const prefix = `${id}/`
  const children = (await store.list()).filter((session) => session.parent === id && session.id.startsWith(prefix))
  return new Set(children.map((child) => child.id.slice(prefix.length)))
}

/** The ids of all descendants. */
export async function descendantsOf(store: SessionStore, id: string): Promise<readonly string[]> {
  return descendantsAmong(await store.list(), id).map((session) => session.id)
}

/** All descendants of a session in a list, parents before their children. */
export function descendantsAmong(all: readonly SessionInfo[], id: string): SessionInfo[] {
  const children = Map.groupBy(all, ({ parent }) => parent)
  const descendants = [...(children.get(id) ?? [])]
  for (const session of descendants) descendants.push(...(children.get(session.id) ?? []))
  return descendants
}
