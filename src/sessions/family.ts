import type { SessionStore, SessionSummary } from '../core/store.ts'
import { allSessions } from './session-query.ts'

/** The lease under which a child session is written. */
export interface ParentLease {
  /** The root session of the tree, which holds the lease. */
  readonly holder: string
  readonly parent: string
}

/** A child that is opened on its own is written under the lease of its root too, so that two writers exclude each other. */
export async function parentLeaseOf(store: SessionStore, id: string): Promise<ParentLease | undefined> {
  if (!id.includes('/')) return undefined // the id of a child begins with that of its parent
  const parent = (await store.find(id))?.parent
  if (parent === undefined) return undefined
  let holder = parent
  const seen = new Set<string>() // two sessions may be parents of each other
  for (let above = await store.find(holder); above?.parent !== undefined && !seen.has(holder); ) {
    seen.add(holder)
    holder = above.parent
    above = await store.find(holder)
  }
  return { holder, parent }
}

/** The names of a session's own children. */
export async function childNames(store: SessionStore, id: string): Promise<Set<string>> {
  const prefix = `${id}/`
  const children = await allSessions(store, { parent: id, prefix })
  return new Set(children.map((child) => child.id.slice(prefix.length)))
}

/** All descendants of a session, parents before their children. */
export async function descendantsOf(store: SessionStore, id: string): Promise<readonly SessionSummary[]> {
  const descendants = await allSessions(store, { parent: id, order: 'id' })
  for (const { id } of descendants) descendants.push(...(await allSessions(store, { parent: id, order: 'id' })))
  return descendants
}
