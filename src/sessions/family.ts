import type { SessionStore } from '../core/store.ts'

/** Whose lease guards a child. */
export interface Guard {
  /** The session at the top. */
  readonly holder: string
  readonly parent: string
}

/** A child that is opened by itself is guarded like one whose parent runs: two writers would not know of each other. */
export async function guardOf(store: SessionStore, id: string): Promise<Guard | undefined> {
  if (!(await hasNameOfChild(store, id))) return undefined // before the list, which may be long
  const parents = new Map((await store.list()).map(({ id, parent }) => [id, parent]))
  const parent = parents.get(id)
  if (parent === undefined) return undefined
  let holder = parent
  for (let above = parents.get(holder); above !== undefined; above = parents.get(holder)) holder = above
  return { holder, parent }
}

/** Children are named after their parents. Others may have a name like that too, but then nobody bears its beginning. */
async function hasNameOfChild(store: SessionStore, id: string): Promise<boolean> {
  for (let end = id.indexOf('/'); end >= 0; end = id.indexOf('/', end + 1)) {
    const above = await store.read(id.slice(0, end)).catch(() => undefined)
    if (above?.length !== 0) return true // one that cannot be read is there
  }
  return false
}

/** The names of a session's own children. */
export async function childNames(store: SessionStore, id: string): Promise<Set<string>> {
  const place = `${id}/`
  const children = (await store.list()).filter((one) => one.parent === id && one.id.startsWith(place))
  return new Set(children.map((child) => child.id.slice(place.length)))
}

/** The ids of its children, and of theirs. */
export async function descendantsOf(store: SessionStore, id: string): Promise<readonly string[]> {
  const children = Map.groupBy(await store.list(), ({ parent }) => parent)
  const ids = [id]
  for (const one of ids) for (const child of children.get(one) ?? []) ids.push(child.id)
  return ids.slice(1)
}
