import { isUtf8 } from 'node:buffer'
import { encodingOf } from '../text/encoding.ts'

/** A file's text, and the way back to its very bytes. */
export interface LosslessText {
  readonly text: string
  /** `unknown`: mostly text, but not all of it is UTF-8; each character of `text` is one byte. */
  readonly encoding: 'UTF-8' | 'UTF-16' | 'unknown'
  /** The bytes of an edited text. What stayed keeps the bytes it had. */
  encode(text: string): Uint8Array
  /** A text from outside, as it would stand in `text`. */
  own(outside: string): string
  /** A part of `text`, for a reader. */
  shown(part: string): string
}

/** Decodes what can be read as text without losing a byte, a byte order mark included; `undefined` for other files. */
export function losslessText(bytes: Uint8Array): LosslessText | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const name = encodingOf(buffer)?.name
  if (name === undefined) return undefined
  if (name === 'utf-16le') return utf16(buffer, same)
  if (name === 'utf-16be') return utf16(buffer, (raw) => Buffer.from(raw).swap16())
  return isUtf8(buffer) ? utf8(buffer) : byteByByte(buffer)
}

const same = <T>(value: T): T => value

function utf8(buffer: Buffer): LosslessText {
  return {
    text: buffer.toString('utf8'),
    encoding: 'UTF-8',
    encode: (text) => Buffer.from(text, 'utf8'),
    own: same,
    shown: same,
  }
}

function utf16(buffer: Buffer, inOrder: (raw: Buffer) => Buffer): LosslessText | undefined {
  if (buffer.length % 2 !== 0) return undefined
  return {
    text: inOrder(buffer).toString('utf16le'),
    encoding: 'UTF-16',
    encode: (text) => inOrder(Buffer.from(text, 'utf16le')),
    own: same,
    shown: same,
  }
}

function byteByByte(buffer: Buffer): LosslessText {
  return {
    text: buffer.toString('latin1'),
    encoding: 'unknown',
    encode: (text) => Buffer.from(text, 'latin1'),
    own: (outside) => Buffer.from(outside, 'utf8').toString('latin1'),
    shown: (part) => Buffer.from(part, 'latin1').toString('utf8'),
  }
}
