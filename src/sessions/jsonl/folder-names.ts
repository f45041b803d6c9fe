import { createHash } from 'node:crypto'

/** The longest name that any common file system takes is 255 bytes, some leave less. */
const longest = 180
/** An encoded byte is two hexadecimal digits, so `%i` never comes out of the encoding. */
const hashed = '%id-'
const empty = '%'
/** Names that Windows keeps for itself. */
const reserved = /^(con|prn|aux|nul|com\d|lpt\d)$/

/**
 * The folder of a session. Small letters, digits, `-` and `_` stay, every other byte becomes `%` and two digits, capital
 * letters too, for file systems that do not tell them apart. An id that is too long for that becomes a digest, and a
 * `meta.json` in the folder says what the id is.
 */
export function folderNameOf(id: string): string {
  if (id === '') return empty
  if (!id.isWellFormed()) return digestName(Buffer.from(id, 'utf16le'))
  const bytes = Buffer.from(id)
  let name = ''
  for (const byte of bytes) {
    name += isPlain(byte) ? String.fromCharCode(byte) : encoded(byte)
    if (name.length > longest) break
  }
  if (name.length > longest) return digestName(bytes)
  return reserved.test(name) ? encoded(bytes[0] ?? 0) + name.slice(1) : name
}

/** The id that a folder is named for; undefined where only its `meta.json` knows. */
export function idOfFolder(name: string): string | undefined {
  if (name === empty) return ''
  if (name.startsWith(hashed)) return undefined
  try {
    const id = decodeURIComponent(name)
    return folderNameOf(id) === name ? id : undefined
  } catch {
    return undefined
  }
}

/** Whether a folder of that name cannot be understood without its `meta.json`. */
export const needsMeta = (name: string): boolean => name.startsWith(hashed)

const digestName = (bytes: Uint8Array): string => hashed + createHash('sha256').update(bytes).digest('hex')

const encoded = (byte: number): string => `%${byte.toString(16).padStart(2, '0')}`

const isPlain = (byte: number): boolean =>
  (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x30 && byte <= 0x39) || byte === 0x2d || byte === 0x5f
