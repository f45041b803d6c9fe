import type { StoreErrorCode } from '../../core/errors.ts'
import { sha256 } from '../bytes.ts'

/** Raised with every change that older clients cannot handle. */
export const protocolVersion = 2

/** An error of the server. The codes are part of the protocol, the messages are for people. */
export interface Problem {
  readonly code: string
  readonly message: string
  /** The holder of the session, with `session_busy` and `lease_lost`. */
  readonly owner?: string
  readonly since?: number
  /** The last stored entry, with `head_moved`. */
  readonly head?: number
}

/** The HTTP status of each store error, sent as code `store_…`. The status tells proxies whether to retry. */
export const storeFailures: Readonly<Record<StoreErrorCode, { status: number; isRetryable: boolean }>> = {
  full: { status: 507, isRetryable: false },
  read_only: { status: 500, isRetryable: false },
  busy: { status: 503, isRetryable: true },
  corrupt: { status: 500, isRetryable: false },
  newer: { status: 500, isRetryable: false },
  network_fs: { status: 500, isRetryable: false },
  unavailable: { status: 503, isRetryable: true },
  denied: { status: 502, isRetryable: false },
}

/** Codes that a client handles. Any other is only shown. */
export const handledCodes: readonly string[] = [
  'head_moved',
  'lease_lost',
  'session_busy',
  'too_large',
  'no_blob',
  'no_session',
  ...Object.keys(storeFailures).map((code) => `store_${code}`),
]

/** The store error of a code, if it is one. */
export function storeCodeOf(code: string): StoreErrorCode | undefined {
  const name = code.startsWith('store_') ? code.slice('store_'.length) : ''
  return Object.hasOwn(storeFailures, name) ? (name as StoreErrorCode) : undefined
}

/**
 * Encodes a text as one segment of a path. A `~` precedes segments that a URL cannot contain: `.`, `..` and the empty one.
 * A text with half a surrogate pair, which has no UTF-8, is sent as JSON after `~!`.
 */
export function segmentOf(text: string): string {
  if (!text.isWellFormed()) return `~!${encodeURIComponent(JSON.stringify(text))}`
  const coded = encodeURIComponent(text)
  return coded === '' || coded === '.' || coded === '..' || coded.startsWith('~') ? `~${coded}` : coded
}

/** Decodes a segment of a path; undefined if it is malformed. */
export function textOfSegment(segment: string): string | undefined {
  try {
    const text = decodeURIComponent(segment)
    if (text.startsWith('~!')) return String(JSON.parse(text.slice(2)))
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

/** A body of at most `maxBytes` bytes; undefined if it is larger, and then the rest is not read. */
export async function readCapped(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (!body) return new Uint8Array()
  const reader = body.getReader()
  const parts: Uint8Array[] = []
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return joined(parts, size)
    size += value.byteLength
    if (size > maxBytes) {
      reader.cancel().catch(() => {}) // a broken stream need not be closed
      return undefined
    }
    parts.push(value)
  }
}

/** Cancels an unread body, to free its connection. */
export function dropBody({ body }: { readonly body: ReadableStream | null }): void {
  if (body && !body.locked) body.cancel().catch(() => {})
}

/** The value of the header `Repr-Digest` (RFC 9530). */
export async function reprDigestOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return `sha-256=:${btoa(String.fromCharCode(...(await sha256(bytes))))}:`
}

function joined(parts: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.byteLength
  }
  return whole
}
