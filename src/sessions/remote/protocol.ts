import type { StoreErrorCode } from '../../core/errors.ts'

/** Raised when a client of the version before could not make sense of the answers any more. */
export const protocolVersion = 1

/** What the server says when it does not do as asked. The codes are part of the protocol, the messages are for people. */
export interface Problem {
  readonly code: string
  readonly message: string
  /** Who holds the session, with `session_busy` and `lease_lost`. */
  readonly owner?: string
  readonly since?: number
  /** The last entry that is there, with `head_moved`. */
  readonly head?: number
}

/** How failures of a store travel: as the code `store_…`, under a status that tells proxies whether to try again. */
export const storeFailures: Readonly<Record<StoreErrorCode, { status: number; passes: boolean }>> = {
  full: { status: 507, passes: false },
  read_only: { status: 500, passes: false },
  busy: { status: 503, passes: true },
  corrupt: { status: 500, passes: false },
  newer: { status: 500, passes: false },
  network_fs: { status: 500, passes: false },
  unavailable: { status: 503, passes: true },
  denied: { status: 502, passes: false },
}

/** Codes that a client acts upon. Any other is only shown. */
export const actedUpon: readonly string[] = [
  'head_moved',
  'lease_lost',
  'session_busy',
  'too_large',
  'no_blob',
  ...Object.keys(storeFailures).map((code) => `store_${code}`),
]

/** The failure that a code of the protocol stands for, if it is one of a store. */
export function storeCodeOf(code: string): StoreErrorCode | undefined {
  const name = code.startsWith('store_') ? code.slice('store_'.length) : ''
  return Object.hasOwn(storeFailures, name) ? (name as StoreErrorCode) : undefined
}

/** Any text as one segment of a path. A URL has no way to spell `.`, `..` or nothing at all there, hence the `~`. */
export function segmentOf(text: string): string {
  if (!text.isWellFormed())
    throw new TypeError(`${JSON.stringify(text)} has half a character in it and cannot be part of an address`)
  const coded = encodeURIComponent(text)
  return coded === '' || coded === '.' || coded === '..' || coded.startsWith('~') ? `~${coded}` : coded
}

/** What a segment of a path stands for; undefined when it is malformed. */
export function textOfSegment(segment: string): string | undefined {
  try {
    const text = decodeURIComponent(segment)
    return text.startsWith('~') ? text.slice(1) : text
  } catch {
    return undefined
  }
}

/** The fence of an append, as a header. */
export const fenceHeader = (epoch: number, head: number): string => `"${epoch}/${head}"`

export function parseFenceHeader(header: string): { epoch: number; head: number } | undefined {
  const [, epoch, head] = /^"(\d{1,16})\/(\d{1,16})"$/.exec(header) ?? []
  return epoch === undefined ? undefined : { epoch: Number(epoch), head: Number(head) }
}
