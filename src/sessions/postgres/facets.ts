import { sha256Hex } from '../bytes.ts'
import type { ParsedQuery } from '../session-query.ts'
import { attentionOf, type StoredSummary } from '../stored-summary.ts'
import { byteLength, maxNameBytes, toId, toText } from './values.ts'

/**
 * The facets of a session. A facet is a property that sessions are listed by: a tenant, a tag, a stored status. Each facet of a
 * session is a row in the index of lists, which is ordered by time and by id: the time to read a page of the sessions with one
 * facet depends only on the size of the page. All sessions have the facet `''`; the functions of the database add `root` or
 * `parent:…`.
 */
export async function facetsOfSummary(summary: StoredSummary): Promise<readonly string[]> {
  const { tenant, kind, folder, tags = [] } = summary
  const details = [
    ...(tenant === undefined ? [] : [facet('tenant', tenant)]),
    ...(kind === undefined ? [] : [facet('kind', kind)]),
    ...(folder === undefined ? [] : [facet('folder', folder)]),
    ...[...new Set(tags)].map((tag) => facet('tag', tag)),
  ]
  const attention = attentionOf(summary, 'none') === undefined ? [] : ['attention']
  return ['', `state:${storedStatusOf(summary)}`, ...attention, ...(await Promise.all(details))]
}

/** The facets that a query asks for. Facets that fewer sessions have come first. */
export async function facetsOfQuery({
  parent,
  tags = [],
  tenant,
  kind,
  folder,
}: ParsedQuery): Promise<readonly string[]> {
  const details = await Promise.all([
    ...tags.map((tag) => facet('tag', tag)),
    ...(folder === undefined ? [] : [facet('folder', folder)]),
    ...(tenant === undefined ? [] : [facet('tenant', tenant)]),
    ...(kind === undefined ? [] : [facet('kind', kind)]),
  ])
  if (parent === undefined) return details
  return parent === null ? [...details, 'root'] : [`parent:${toId(parent)}`, ...details]
}

/** A value that is too long for an index is represented by its digest. */
async function facet(name: string, value: string): Promise<string> {
  const text = toText(value)
  return `${name}:${byteLength(text) > maxNameBytes ? `#${await sha256Hex(text)}` : text}`
}

/**
 * The status as the database stores it (column `state`), without knowing whether a process holds the session. While a run is
 * active, `active ` stands before it: a session with `active working` is shown as `working` while a process holds it, else as
 * `interrupted`. A parked session always has `parked`.
 */
export function storedStatusOf({ status, isActive }: StoredSummary): string {
  return isActive && status !== 'parked' ? activeState(status) : status
}

const activeState = (status: string): string => `active ${status}`

/** Which stored statuses match the wanted statuses. */
export interface StoredStatuses {
  /** Match whether or not a process holds the session. */
  readonly always: readonly string[]
  /** Match only while a process holds the session. */
  readonly ifHeld: readonly string[]
  /** Match only while no process holds the session. */
  readonly unlessHeld: readonly string[]
}

export function storedStatusesFor(wanted: readonly string[]): StoredStatuses {
  const isWanted = (status: string): boolean => wanted.includes(status)
  const [some, others] = [true, false].map((is) => ['working', 'waiting'].filter((status) => isWanted(status) === is))
  const [active, otherActive] = [(some ?? []).map(activeState), (others ?? []).map(activeState)]
  return isWanted('interrupted')
    ? { always: [...wanted, ...active], ifHeld: [], unlessHeld: otherActive }
    : { always: wanted, ifHeld: active, unlessHeld: [] }
}
