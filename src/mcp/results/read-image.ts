import type { ImageBlock } from '../../core/turn.ts'
import { type ImageInfo, imageInfo, isBase64 } from '../../platform/image-info.ts'
import { isWholeImage, longestImageSide, mostImageBase64 } from '../../platform/whole-image.ts'

/** An image by what its bytes say, whatever type it was sent as; or why models cannot be shown it. */
export function readImage(
  data: unknown,
): { readonly image: ImageBlock } | { readonly image?: undefined; readonly problem: string } {
  if (typeof data !== 'string' || data === '') return { problem: 'it has no data' }
  if (data.length > mostImageBase64 * 1.1) return tooLarge
  const base64 = data.replaceAll(/\s+/g, '')
  if (base64.length > mostImageBase64) return tooLarge
  const info = imageInfo(base64)
  if (!info || !isBase64(base64)) return { problem: 'it is no PNG, JPEG, GIF or WebP' }
  const bytes = Buffer.from(base64, 'base64')
  const { width = 0, height = 0 } = info.width === undefined ? (sizeBehindRemarks(bytes) ?? info) : info
  if (Math.max(width, height) > longestImageSide) return { problem: `more than ${longestImageSide} pixels a side` }
  if (!isWholeImage(bytes, info)) return { problem: 'it is damaged or cut off' }
  return { image: { type: 'image', mediaType: info.type, data: base64 } }
}

const tooLarge = { problem: `larger than ${(mostImageBase64 / 4) * 3} bytes` }

/** Profiles, thumbnails and comments may fill more of a JPEG's beginning than is looked at for its size. */
function sizeBehindRemarks(bytes: Buffer): ImageInfo | undefined {
  if (bytes[0] !== 0xff || bytes[1] !== 0xd8) return undefined
  let at = 2
  while (at + 4 <= bytes.length && bytes[at] === 0xff && isRemark(bytes[at + 1]!)) at += 2 + bytes.readUInt16BE(at + 2)
  const rest = bytes.subarray(at, at + mostTables)
  return imageInfo(Buffer.concat([bytes.subarray(0, 2), rest]).toString('base64'))
}

const isRemark = (marker: number): boolean => (marker >= 0xe0 && marker <= 0xef) || marker === 0xfe
const mostTables = 64_000
