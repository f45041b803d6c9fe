import type { ImageInfo } from './image-info.ts'

/** More than this, as base64, no service takes as one image. */
export const mostImageBase64 = 5 * 1024 * 1024
/** Pixels along one side; beyond, services refuse. */
export const longestImageSide = 8000

/** Whether an image has its end: services refuse a request over one that ends too early, and with it the whole conversation. */
export function isWholeImage(bytes: Buffer, { type, width }: ImageInfo): boolean {
  if (type === 'image/jpeg') return bytes.lastIndexOf(Buffer.from([0xff, 0xd9])) > 0
  if (width === undefined) return false
  if (type === 'image/png') return isBetween(24, bytes.lastIndexOf('IEND'), bytes.length - 8)
  if (type === 'image/gif') return bytes.findLast((byte) => byte !== 0) === 0x3b
  return bytes.readUInt32LE(4) + 8 <= bytes.length
}

const isBetween = (low: number, value: number, high: number): boolean => low <= value && value <= high
