import { isUtf8 } from 'node:buffer'

/** The encoding of a text file. */
export interface Encoding {
  readonly name: 'utf-8' | 'utf-16le' | 'utf-16be'
  /** The length of the byte order mark in bytes. */
  readonly bom: number
}

/** How many bytes are read to tell text from binary files. */
export const sniffedBytes = 8192

/** Detects the encoding of a text by its first bytes; `undefined` if it is not text. */
export function encodingOf(head: Uint8Array): Encoding | undefined {
  const start = head.subarray(0, sniffedBytes)
  const [a, b, c, d] = start
  const isUtf32 = a === 0xff && b === 0xfe && c === 0 && d === 0
  if (a === 0xff && b === 0xfe && !isUtf32) return { name: 'utf-16le', bom: 2 }
  if (a === 0xfe && b === 0xff) return { name: 'utf-16be', bom: 2 }
  if (start.includes(0)) return undefined
  const encoding: Encoding = { name: 'utf-8', bom: a === 0xef && b === 0xbb && c === 0xbf ? 3 : 0 }
  return isMostlyUnreadable(decode(start, encoding, { cut: true })) ? undefined : encoding
}

/** Decodes bytes that begin at a character. With `cut`, an incomplete character at the end is dropped. */
export function decode(bytes: Uint8Array, { name }: Encoding, { cut = false } = {}): string {
  return new TextDecoder(name, { ignoreBOM: true }).decode(bytes, { stream: cut })
}

/** Counts U+FFFD, also those in the text itself: a context that returns text has already decoded the file. */
function isMostlyUnreadable(text: string): boolean {
  let unreadable = 0
  for (let at = text.indexOf('\ufffd'); at >= 0; at = text.indexOf('\ufffd', at + 1)) unreadable++
  return unreadable > 3 && unreadable > text.length / 10
}

/** The text of a file that can be encoded back to exactly the same bytes. */
export interface LosslessText {
  readonly text: string
  /** `unknown`: mostly text, but not all of it is UTF-8; each character of `text` stands for one byte. */
  readonly encoding: 'UTF-8' | 'UTF-16' | 'unknown'
  /** The bytes of an edited text. Unchanged parts keep their bytes. */
  encode(text: string): Uint8Array
  /** Converts a text of the model to the form it has in `text`. */
  encodeAsFileText(text: string): string
  /** Converts a part of `text` for display. */
  decodeForDisplay(part: string): string
}

/** Decodes a text file without losing a byte, byte order mark included; `undefined` for other files. */
export function losslessText(bytes: Uint8Array): LosslessText | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const name = encodingOf(buffer)?.name
  if (name === undefined) return undefined
  if (name === 'utf-16le') return utf16Text(buffer, same)
  if (name === 'utf-16be') return utf16Text(buffer, (raw) => Buffer.from(raw).swap16())
  return isUtf8(buffer) ? utf8Text(buffer) : byteText(buffer)
}

const same = <T>(value: T): T => value

function utf8Text(buffer: Buffer): LosslessText {
  return {
    text: buffer.toString('utf8'),
    encoding: 'UTF-8',
    encode: (text) => Buffer.from(text, 'utf8'),
    encodeAsFileText: same,
    decodeForDisplay: same,
  }
}

function utf16Text(buffer: Buffer, inOrder: (raw: Buffer) => Buffer): LosslessText | undefined {
  if (buffer.length % 2 !== 0) return undefined
  return {
    text: inOrder(buffer).toString('utf16le'),
    encoding: 'UTF-16',
    encode: (text) => inOrder(Buffer.from(text, 'utf16le')),
    encodeAsFileText: same,
    decodeForDisplay: same,
  }
}

function byteText(buffer: Buffer): LosslessText {
  return {
    text: textOfBytes(buffer),
    encoding: 'unknown',
    encode: bytesOfText,
    encodeAsFileText: (text) => textOfBytes(Buffer.from(text, 'utf8')),
    decodeForDisplay: (part) => bytesOfText(part).toString('utf8'),
  }
}

/**
 * One character for each byte. A byte that is not ASCII is only a part of a character, so it becomes a letter that has no other forms
 * and no look-alikes. As Latin-1, the second byte of `à` would be a space, which a search may ignore at the end of a line.
 */
function textOfBytes(bytes: Buffer): string {
  const codes = new Uint16Array(bytes).map((byte) => (byte < 0x80 ? byte : byteLetters + byte))
  return Buffer.from(codes.buffer).toString('utf16le')
}

/** U+A080 to U+A0FF are syllables of the Yi script. */
const byteLetters = 0xa000

/** The lowest eight bits of each character. */
const bytesOfText = (text: string): Buffer => Buffer.from(text, 'latin1')

/** Decodes UTF-8, keeping a byte order mark; `undefined` if the bytes are not valid UTF-8. */
export function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}
