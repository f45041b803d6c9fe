import { isAscii, isUtf8 } from 'node:buffer'
import type { TextKind } from './regex-write.ts'

/** The decoded text of a file. */
export interface FileText {
  readonly text: string
  readonly kind: TextKind
}

/** Ripgrep reads a file in chunks of this size; the chunk with the first NUL byte decides what it has searched before. */
const chunkBytes = 65_536

/** Decodes like ripgrep: UTF-8, also invalid, or UTF-16 with a byte order mark. Undefined for binary files. */
export function textOf(bytes: Buffer): FileText | undefined {
  const utf16 = utf16Of(bytes)
  const text = utf16 && new TextDecoder(utf16).decode(bytes)
  if (text !== undefined) return text.includes('\0') ? undefined : { text, kind: 'unicode' }
  return bytes.includes(0) ? undefined : decoded(bytes)
}

/** The same, but for a binary file the part that ripgrep searches before it finds a NUL byte. */
export function textBeforeBinary(bytes: Buffer): FileText | undefined {
  if (utf16Of(bytes) || !bytes.includes(0)) return textOf(bytes)
  const length = searchedBefore(bytes)
  return length > 0 ? decoded(bytes.subarray(0, length)) : undefined
}

/** The same, but allows NUL bytes after the first chunk: for matches over lines, ripgrep checks only that chunk. */
export function textWithLateNuls(bytes: Buffer): FileText | undefined {
  return utf16Of(bytes) || bytes.subarray(0, chunkBytes).includes(0) ? textOf(bytes) : decoded(bytes)
}

/** Whether a file is UTF-16, so that its bytes cannot be searched for those of a text. */
export function isUtf16(bytes: Buffer): boolean {
  return utf16Of(bytes) !== undefined
}

function utf16Of(bytes: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : undefined
}

function decoded(bytes: Buffer): FileText {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  const content = hasMark ? bytes.subarray(3) : bytes
  if (isAscii(content)) return { text: content.toString('latin1'), kind: 'ascii' }
  return { text: content.toString('utf8'), kind: isUtf8(content) ? 'unicode' : 'lossy' }
}

/** The length of the whole lines before the chunk with the first NUL byte. */
function searchedBefore(bytes: Buffer): number {
  const nul = bytes.indexOf(0)
  let searched = 0
  let capacity = chunkBytes
  for (let read = 0; ; ) {
    const end = Math.min(bytes.length, searched + capacity)
    if (nul < end) return searched
    const newline = bytes.lastIndexOf(10, end - 1)
    // Without a newline the buffer grows.
    if (newline >= read) searched = newline + 1
    else capacity *= 2
    read = end
  }
}
