import type { SessionStore, SessionSummary } from '../core/store.ts'
import { allSessions, eachSession, maxLimit } from './session-query.ts'

/** The lease under which a child session is written. */
export interface LeaseHolder {
  /** The root session of the tree, which holds the lease. */
  readonly holder: string
  readonly parent: string
}

/** A child that is opened directly is written under the lease of its root too, so that two writers exclude each other. */
export async function leaseHolderOf(store: SessionStore, id: string): Promise<LeaseHolder | undefined> {
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

/** The session at the root of the tree of one. A call of a sub-agent is listed under it, and continued by it. */
export async function rootOf(store: SessionStore, summary: SessionSummary): Promise<SessionSummary> {
  let root = summary
  for (let depth = 0; root.parent !== undefined && depth < 64; depth++) {
    const parent = await store.find(root.parent)
    if (!parent) break // deleted meanwhile
    root = parent
  }
  return root
}

/** Whether a session waits and the answer is there in a sub-agent, which only its root continues. */
export async function isAnsweredBelow(
  store: SessionStore,
  { id, status }: Pick<SessionSummary, 'id' | 'status'>,
): Promise<boolean> {
  if (status !== 'waiting') return false
  for await (const { attention } of eachDescendant(store, id)) if (attention === 'answered') return true
  return false
}

/** The names of a session's own children; undefined if there are very many. */
export async function childNames(store: SessionStore, id: string): Promise<readonly string[] | undefined> {
  const { sessions, next } = await store.list({ parent: id, limit: maxLimit })
  return next === undefined ? sessions.map((child) => child.id.slice(id.length + 1)) : undefined
}

/** The names of a session's own children that begin with this. */
export async function childNamesFrom(store: SessionStore, id: string, beginning: string): Promise<readonly string[]> {
  const children = await allSessions(store, { parent: id, prefix: `${id}/${beginning}` })
  return children.map((child) => child.id.slice(id.length + 1))
}

/** All descendants of a session, parents before their children. */
export async function* eachDescendant(store: SessionStore, id: string): AsyncGenerator<SessionSummary, void> {
  const seen = new Set([id]) // two sessions may be parents of each other
  for (const parent of seen)
    for await (const child of eachSession(store, { parent, order: 'id' })) {
      if (seen.has(child.id)) continue
      seen.add(child.id)
      yield child
    }
}

export async function descendantsOf(store: SessionStore, id: string): Promise<readonly SessionSummary[]> {
  const descendants: SessionSummary[] = []
  for await (const descendant of eachDescendant(store, id)) descendants.push(descendant)
  return descendants
}
