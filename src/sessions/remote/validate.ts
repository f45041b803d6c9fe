import { isRecord } from '../../core/is-record.ts'
import type { InboxItem, LogEntry } from '../../core/log.ts'
import { metaFlaw } from '../../core/meta.ts'
import type { Lease, SessionSummary } from '../../core/store.ts'

/** Deeper values cannot be traversed safely; no valid entry comes near it. */
const deepest = 500

/** Whether a value is a whole number from 0 on. */
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** JSON may contain `1e999`, which is read as infinite. */
export const isFiniteNumber = (value: unknown): value is number => Number.isFinite(value)

/** What is wrong with a value as the entries after `head`; undefined if nothing is. */
export function entriesFlaw(value: unknown, head: number): string | undefined {
  if (!Array.isArray(value)) return 'the entries are not a list'
  for (const [i, entry] of value.entries()) {
    const expected = head + i + 1
    if (!isRecord(entry)) return `entry ${expected} is not an object`
    if (entry.seq !== expected) return `entry ${expected} has a number that is ${shown(entry.seq)}`
    if (typeof entry.id !== 'string') return `entry ${expected} has no id`
    if (typeof entry.type !== 'string') return `entry ${expected} has no type`
    if (!isFiniteNumber(entry.at)) return `entry ${expected} has no time`
    if (isTooDeep(entry)) return `entry ${expected} is nested too deeply`
  }
  return undefined
}

/** What is wrong with a value as a page of a range; undefined if nothing is. */
export function pageFlaw(value: unknown, range: AskedRange): string | undefined {
  const { after, before = Number.POSITIVE_INFINITY, limit, isFromEnd } = range
  const first: unknown = isFromEnd && Array.isArray(value) ? value[0]?.seq : undefined
  const flaw = entriesFlaw(value, typeof first === 'number' && first > after ? first - 1 : after)
  if (flaw) return flaw
  const entries = asEntries(value)
  if (entries.length > limit) return `more than the ${limit} entries that were asked for`
  return (entries.at(-1)?.seq ?? -1) >= before ? `entries that are not before ${before}` : undefined
}

interface AskedRange {
  readonly after: number
  readonly before: number | undefined
  readonly limit: number
  /** The page begins wherever the last entries begin. */
  readonly isFromEnd: boolean
}

/** Checked by `entriesFlaw` before. */
export const asEntries = (value: unknown): readonly LogEntry[] => value as readonly LogEntry[]

export function itemFlaw(value: unknown): string | undefined {
  if (!isRecord(value)) return 'the message is not an object'
  if (typeof value.clientKey !== 'string') return 'the message has no clientKey'
  if (typeof value.mode !== 'string') return 'the message has no mode'
  if (!Array.isArray(value.content)) return 'the content of the message is not a list'
  if (isTooDeep(value)) return 'the message is nested too deeply'
  const flaw = metaFlaw(value.meta)
  return flaw && `the meta of the message ${flaw}`
}

export function inboxFlaw(value: unknown): string | undefined {
  if (!Array.isArray(value)) return 'the inbox is not a list'
  for (const item of value) {
    const flaw = itemFlaw(item)
    if (flaw) return flaw
  }
  return undefined
}

/** Checked by `inboxFlaw` before. */
export const asInbox = (value: unknown): readonly InboxItem[] => value as readonly InboxItem[]

/** The lease in an answer, or what is wrong with it. */
export function leaseOf({ epoch, head, inbox, died }: Record<string, unknown>): Lease | string {
  if (!isCount(epoch)) return `the epoch is ${shown(epoch)}`
  if (!isCount(head)) return `the head is ${shown(head)}`
  return inboxFlaw(inbox) ?? { epoch, head, inbox: asInbox(inbox), ...(isDeath(died) && { died }) }
}

const isDeath = (value: unknown): value is NonNullable<Lease['died']> =>
  isRecord(value) && typeof value.processId === 'string' && isCount(value.sessions) && value.sessions > 0

/** What is wrong with a value as a session of a list; undefined if nothing is. */
export function summaryFlaw(value: unknown): string | undefined {
  if (!isRecord(value)) return 'a session is not an object'
  const { id, head, parent, status, tags } = value
  if (typeof id !== 'string') return 'a session has no id'
  if (!isCount(head)) return `the head of a session is ${shown(head)}`
  if (parent !== undefined && typeof parent !== 'string') return 'the parent of a session is not a text'
  if (typeof status !== 'string') return 'a session has no status'
  if (!Array.isArray(tags)) return 'the tags of a session are not a list'
  for (const field of ['createdAt', 'updatedAt', 'turns', 'calls', 'tokens', 'cost', 'bytes'])
    if (!isFiniteNumber(value[field])) return `the ${field} of a session is ${shown(value[field])}`
  return undefined
}

/** Checked by `summaryFlaw` before. */
export const asSummaries = (value: unknown): readonly SessionSummary[] => value as readonly SessionSummary[]

function isTooDeep(value: object, depth = 1): boolean {
  if (depth > deepest) return true
  for (const inner of Object.values(value))
    if (typeof inner === 'object' && inner !== null && isTooDeep(inner, depth + 1)) return true
  return false
}

/** Texts are not quoted: they may contain secrets. */
function shown(value: unknown): string {
  if (typeof value === 'number') return String(value)
  return value === null || value === undefined ? 'missing' : `of type ${typeof value}`
}
