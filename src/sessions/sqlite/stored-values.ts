import { crc32 } from 'node:zlib'

/**
 * Encodes an id or another short text for SQLite, so that encoded texts are ordered like the texts by UTF-16 units, and begin
 * alike if the texts do. Almost all stay as they are. SQLite cannot store NUL or a lone surrogate, and orders the characters
 * after the surrogates differently: each of these units becomes two characters.
 */
export function encodeText(text: string): string {
  if (isPlain(text)) return text
  let encoded = ''
  for (let i = 0; i < text.length; i++) encoded += encodeUnit(text.charCodeAt(i))
  return encoded
}

/** Decodes the text that `encodeText` wrote. */
export function decodeText(encoded: string): string {
  if (isPlain(encoded)) return encoded
  let text = ''
  for (let i = 0; i < encoded.length; i++) {
    const unit = encoded.charCodeAt(i)
    text += String.fromCharCode(
      isPlainUnit(unit) ? unit : encoded.charCodeAt(++i) - 1 + (unit === lowMark ? 0 : highMark),
    )
  }
  return text
}

/** Stand before the units up to `lowMark` and from `highMark` on. */
const lowMark = 0x0001
const highMark = 0xd7ff

const isPlainUnit = (unit: number): boolean => unit > lowMark && unit < highMark

function isPlain(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (!isPlainUnit(text.charCodeAt(i))) return false
  return true
}

function encodeUnit(unit: number): string {
  if (isPlainUnit(unit)) return String.fromCharCode(unit)
  return unit > lowMark ? String.fromCharCode(highMark, unit - highMark + 1) : String.fromCharCode(lowMark, unit + 1)
}

/** The first text after all encoded texts that begin with `encoded`. */
export const endOfPrefix = (encoded: string): string => `${encoded}\uffff`

/** The id of a session that was deleted and is kept for its forks. No text is encoded to it. */
export const tombstoneId = (key: number): string => `${tombstone} ${key}`
export const isTombstone = (id: string): boolean => id.startsWith(tombstone)
const tombstone = `${String.fromCharCode(lowMark)}deleted`

/** Decodes texts of the formats 1 and 2, which kept those that SQLite cannot store as JSON. */
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

/** The primary key of entry `seq` of a session: entries are ordered by session, then by number. */
export function entryKey(session: number, seq: number): number {
  if (seq >= maxEntries)
    throw new RangeError(`A session cannot have more than ${maxEntries - 1} entries; start a new one`)
  return session * maxEntries + seq
}

/** The first key after those of a session. */
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
