import { isAscii, isUtf8 } from 'node:buffer'
import type { TextKind } from './regex-write.ts'

/** What a file holds, ready to be searched. */
export interface FileText {
  readonly text: string
  readonly kind: TextKind
}

/** Ripgrep looks at so much of a file at a time; where a NUL byte turns up decides what it has searched by then. */
const chunkBytes = 65_536

/** Decodes as ripgrep does: UTF-8 whatever is wrong with it, or UTF-16 with a byte order mark. Binary files give nothing. */
export function textOf(bytes: Buffer): FileText | undefined {
  const utf16 = utf16Of(bytes)
  const text = utf16 && new TextDecoder(utf16).decode(bytes)
  if (text !== undefined) return text.includes('\0') ? undefined : { text, kind: 'unicode' }
  return bytes.includes(0) ? undefined : decoded(bytes)
}

/** The same, but of a binary file what ripgrep would have searched before it saw that it is one. */
export function textBeforeBinary(bytes: Buffer): FileText | undefined {
  if (utf16Of(bytes) || !bytes.includes(0)) return textOf(bytes)
  const length = searchedBefore(bytes)
  return length > 0 ? decoded(bytes.subarray(0, length)) : undefined
}

/** The same, with NUL bytes that are far from the beginning: when matches may span lines, ripgrep looks only there. */
export function textWithLateNuls(bytes: Buffer): FileText | undefined {
  return utf16Of(bytes) || bytes.subarray(0, chunkBytes).includes(0) ? textOf(bytes) : decoded(bytes)
}

/** Whether the bytes in a file may be searched for the bytes of a text. */
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

/** How many bytes, all of them whole lines, come before the chunk with the first NUL byte. */
function searchedBefore(bytes: Buffer): number {
  const nul = bytes.indexOf(0)
  let searched = 0
  let capacity = chunkBytes
  for (let read = 0; ; ) {
    const end = Math.min(bytes.length, searched + capacity)
    if (nul < end) return searched
    const newline = bytes.lastIndexOf(10, end - 1)
    // What has no newline yet is kept, in a buffer that grows for it.
    if (newline >= read) searched = newline + 1
    else capacity *= 2
    read = end
  }
}
