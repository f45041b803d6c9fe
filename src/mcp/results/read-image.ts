import type { ImageBlock } from '../../core/turn.ts'
import { type ImageInfo, imageInfo, isBase64 } from '../../platform/image-info.ts'

/** More than this, as base64, no service takes as one image. */
const mostBase64 = 5 * 1024 * 1024
/** Pixels along one side; beyond, services refuse. */
const longestSide = 8000

/** An image by what its bytes say, whatever type it was sent as; or why models cannot be shown it. */
export function readImage(
  data: unknown,
): { readonly image: ImageBlock } | { readonly image?: undefined; readonly problem: string } {
  if (typeof data !== 'string' || data === '') return { problem: 'it has no data' }
  if (data.length > mostBase64 * 1.1) return tooLarge
  const base64 = data.replaceAll(/\s+/g, '')
  if (base64.length > mostBase64) return tooLarge
  const info = imageInfo(base64)
  if (!info || !isBase64(base64)) return { problem: 'it is no PNG, JPEG, GIF or WebP' }
  if (Math.max(info.width ?? 0, info.height ?? 0) > longestSide)
    return { problem: `more than ${longestSide} pixels a side` }
  if (!isWhole(Buffer.from(base64, 'base64'), info)) return { problem: 'it is damaged or cut off' }
  return { image: { type: 'image', mediaType: info.type, data: base64 } }
}

const tooLarge = { problem: `larger than ${(mostBase64 / 4) * 3} bytes` }

/** Services refuse a request over an image that ends too early, and with it the whole conversation. */
function isWhole(bytes: Buffer, { type, width }: ImageInfo): boolean {
  if (type === 'image/jpeg') return bytes.lastIndexOf(Buffer.from([0xff, 0xd9])) > 0
  if (width === undefined) return false
  if (type === 'image/png') return bytes.lastIndexOf('IEND') >= 24 && bytes.lastIndexOf('IEND') <= bytes.length - 8
  if (type === 'image/gif') return bytes.findLast((byte) => byte !== 0) === 0x3b
  return bytes.readUInt32LE(4) + 8 <= bytes.length
}
