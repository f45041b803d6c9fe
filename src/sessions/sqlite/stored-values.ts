import { crc32 } from 'node:zlib'

export { decodeText, encodeText, endOfPrefix } from '../ordered-text.ts'

/** The id of a session that was deleted and is kept for its forks. `encodeText` never returns such an id. */
export const tombstoneId = (key: number): string => `${tombstone} ${key}`
export const isTombstone = (id: string): boolean => id.startsWith(tombstone)
const tombstone = '\u0001deleted'

/** Decodes a text from format 1 or 2. Those formats stored a text as JSON if SQLite could not store it directly. */
export function decodeFormat2(encoded: string): string {
  if (!encoded.startsWith('"')) return encoded
  try {
    return String(JSON.parse(encoded))
  } catch {
    return encoded
  }
}

/** The maximum number of entries of a session; a safe integer then covers 134 million sessions. */
const maxEntries = 2 ** 26

/** The primary key of entry `seq` of a session, in the column `place`: entries are ordered by session, then by number. */
export function entryKey(session: number, seq: number): number {
  if (seq >= maxEntries)
    throw new RangeError(`A session cannot have more than ${maxEntries - 1} entries; start a new one`)
  return session * maxEntries + seq
}

/** The first key after all keys that the entries of a session can have. */
export const entryKeysEnd = (session: number): number => (session + 1) * maxEntries

/** The session and the number of an entry by its key. */
export const entryKeyParts = (key: number): { session: number; seq: number } => ({
  session: Math.floor(key / maxEntries),
  seq: key % maxEntries,
})

/** A stored value with its checksum: SQLite itself does not notice a changed byte in a text. */
export interface Checksummed {
  readonly body: string
  readonly sum: number
}

/** The checksum of a text of a session; it includes the session, so that a row in a wrong session is noticed. */
export const checksumOf = (body: string, session: number): number => crc32(body, session >>> 0)

/** The parsed value, or undefined if the checksum is wrong. */
export function verifiedValue(row: Checksummed, session: number): unknown {
  if (checksumOf(row.body, session) !== row.sum) return undefined
  try {
    return JSON.parse(row.body)
  } catch {
    return undefined
  }
}
