import { sha256Hex } from '../bytes.ts'
import type { ParsedQuery } from '../session-query.ts'
import { attentionOf, type StoredSummary } from '../stored-summary.ts'
import { byteLength, maxNameBytes, toId, toText } from './values.ts'

/**
 * A facet is a property that sessions are listed by: a tenant, a tag, a state. Each facet of a session is a row in the index
 * of lists, ordered by time and by id, so that a page of the sessions with a facet is read in time of the page. All sessions
 * have the facet `''`; the functions of the database add `root` or `parent:…`.
 */
export async function facetsOf(summary: StoredSummary): Promise<readonly string[]> {
  const { tenant, kind, folder, tags = [] } = summary
  const details = [
    ...(tenant === undefined ? [] : [facet('tenant', tenant)]),
    ...(kind === undefined ? [] : [facet('kind', kind)]),
    ...(folder === undefined ? [] : [facet('folder', folder)]),
    ...[...new Set(tags)].map((tag) => facet('tag', tag)),
  ]
  const attention = attentionOf(summary, 'none') === undefined ? [] : ['attention']
  return ['', `state:${stateOf(summary)}`, ...attention, ...(await Promise.all(details))]
}

/** The facets that a query asks for, those that fewer sessions have first. */
export async function facetsIn({ parent, tags = [], tenant, kind, folder }: ParsedQuery): Promise<readonly string[]> {
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
 * While a run is active, the status is `working` or `waiting` if the session has a living holder, else `interrupted`. A
 * parked session is parked in any case.
 */
export function stateOf({ status, isActive }: StoredSummary): string {
  return isActive && status !== 'parked' ? activeState(status) : status
}

const activeState = (status: string): string => `active ${status}`

/** The states of sessions that have one of these statuses: all of them, or only those that a process holds, or does not. */
export interface StatesOfStatuses {
  readonly always: readonly string[]
  readonly ifHeld: readonly string[]
  readonly unlessHeld: readonly string[]
}

export function statesOf(wanted: readonly string[]): StatesOfStatuses {
  const isWanted = (status: string): boolean => wanted.includes(status)
  const [some, others] = [true, false].map((is) => ['working', 'waiting'].filter((status) => isWanted(status) === is))
  const [active, otherActive] = [(some ?? []).map(activeState), (others ?? []).map(activeState)]
  return isWanted('interrupted')
    ? { always: [...wanted, ...active], ifHeld: [], unlessHeld: otherActive }
    : { always: wanted, ifHeld: active, unlessHeld: [] }
}
