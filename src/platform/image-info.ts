/** The real type and size of an image. */
export interface ImageInfo {
  readonly type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'
  /** In pixels; absent if the first 64 KB do not contain the size. */
  readonly width?: number
  readonly height?: number
}

/** Type and size of a base64 image, from its first bytes; `undefined` for types that models do not accept. */
export function imageInfo(base64: string): ImageInfo | undefined {
  const head = decode(base64, 48)
  if (startsWith(head, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])) return { type: 'image/png', ...pngSize(head) }
  if (startsWith(head, [0xff, 0xd8, 0xff])) return { type: 'image/jpeg', ...jpegSize(decode(base64, jpegPrefix)) }
  if (textAt(head, 0, 6) === 'GIF87a' || textAt(head, 0, 6) === 'GIF89a')
    return { type: 'image/gif', ...sizeOf(little16(head, 6), little16(head, 8)) }
  if (textAt(head, 0, 4) === 'RIFF' && textAt(head, 8, 4) === 'WEBP') return { type: 'image/webp', ...webpSize(head) }
  return undefined
}

/** Whether a text is base64 as services want it: the standard alphabet, padded, no line breaks, not empty. */
export function isBase64(text: string): boolean {
  const { length } = text
  if (length === 0 || length % 4 !== 0) return false
  let end = length
  if (text.charCodeAt(end - 1) === 0x3d) end -= text.charCodeAt(end - 2) === 0x3d ? 2 : 1
  for (let i = 0; i < end; i++) if (!isLetter(text.charCodeAt(i))) return false
  return true
}

const isLetter = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) || // a-z
  (code >= 0x41 && code <= 0x5a) || // A-Z
  (code >= 0x2f && code <= 0x39) || // the slash, 0-9
  code === 0x2b // the plus

type Size = { width: number; height: number } | undefined

/** Thumbnails and profiles of cameras may come before the frame header. */
const jpegPrefix = 65_536

/** Up to `count` bytes; none if the text is not base64. */
function decode(base64: string, count: number): Uint8Array {
  const prefix = base64.slice(0, Math.ceil(count / 3) * 4).replace(/\s+/g, '')
  try {
    const binary = atob(prefix.slice(0, prefix.length - (prefix.length % 4)))
    const bytes = new Uint8Array(binary.length)
    for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i)
    return bytes
  } catch {
    return new Uint8Array()
  }
}

function pngSize(bytes: Uint8Array): Size {
  if (textAt(bytes, 12, 4) !== 'IHDR' || bytes.length < 24) return undefined
  return sizeOf(big16(bytes, 16) * 65_536 + big16(bytes, 18), big16(bytes, 20) * 65_536 + big16(bytes, 22))
}

/** Skips segments until the frame header. */
function jpegSize(bytes: Uint8Array): Size {
  let at = 2
  while (at + 9 <= bytes.length) {
    if (bytes[at] !== 0xff) return undefined
    const marker = bytes[at + 1]!
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return sizeOf(big16(bytes, at + 7), big16(bytes, at + 5))
    if (marker === 0xd9 || marker === 0xda) return undefined
    // A marker may be preceded by further 0xff bytes.
    at += marker === 0xff ? 1 : 2 + big16(bytes, at + 2)
  }
  return undefined
}

/** WebP has three kinds of first chunk, each with a header of its own. */
function webpSize(bytes: Uint8Array): Size {
  if (bytes.length < 30) return undefined
  const kind = textAt(bytes, 12, 4)
  if (kind === 'VP8X') return sizeOf(1 + little24(bytes, 24), 1 + little24(bytes, 27))
  if (kind === 'VP8 ') return sizeOf(little16(bytes, 26) & 0x3fff, little16(bytes, 28) & 0x3fff)
  if (kind !== 'VP8L' || bytes[20] !== 0x2f) return undefined
  const bits = little16(bytes, 21) + little16(bytes, 23) * 65_536
  return sizeOf(1 + (bits & 0x3fff), 1 + (Math.floor(bits / 0x4000) & 0x3fff))
}

/** A size of 0 means that it is unknown. */
const sizeOf = (width: number, height: number): Size => (width > 0 && height > 0 ? { width, height } : undefined)

const startsWith = (bytes: Uint8Array, start: readonly number[]): boolean => start.every((byte, i) => bytes[i] === byte)
const textAt = (bytes: Uint8Array, at: number, length: number): string =>
  String.fromCharCode(...bytes.subarray(at, at + length))
const big16 = (bytes: Uint8Array, at: number): number => (bytes[at] ?? 0) * 256 + (bytes[at + 1] ?? 0)
const little16 = (bytes: Uint8Array, at: number): number => (bytes[at] ?? 0) + (bytes[at + 1] ?? 0) * 256
const little24 = (bytes: Uint8Array, at: number): number => little16(bytes, at) + (bytes[at + 2] ?? 0) * 65_536

/** No service accepts a longer image, in base64 characters. */
export const maxImageBase64 = 5 * 1024 * 1024
/** In pixels; services refuse larger images. */
export const maxImageSide = 8000

/** Whether an image is complete: services refuse a whole conversation because of a truncated image. */
export function isCompleteImage(bytes: Buffer, { type, width }: ImageInfo): boolean {
  if (type === 'image/jpeg') return bytes.lastIndexOf(Buffer.from([0xff, 0xd9])) > 0
  if (width === undefined) return false
  if (type === 'image/png') return isBetween(24, bytes.lastIndexOf('IEND'), bytes.length - 8)
  if (type === 'image/gif') return bytes.findLast((byte) => byte !== 0) === 0x3b
  return bytes.readUInt32LE(4) + 8 <= bytes.length
}

const isBetween = (low: number, value: number, high: number): boolean => low <= value && value <= high
