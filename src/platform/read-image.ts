import { readFile } from 'node:fs/promises'
import { codeOf } from '../core/errors.ts'
import type { ImageBlock } from '../core/turn.ts'
import { imageInfo } from './image-info.ts'

/** The most bytes that an image for a model may have. */
export const mostImageBytes: number = 20 * 1024 * 1024

/** An image, or why there is none, in words that follow its name, and whether the name or the image is at fault. */
export type ReadImage =
  | { readonly image: ImageBlock; readonly bytes: number }
  | { readonly problem: string; readonly isTooLarge?: true; readonly isUnreadable?: true; readonly cause?: unknown }

export async function readImageFile(path: string): Promise<ReadImage> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (cause) {
    const why = codeOf(cause) === 'ENOENT' ? 'there is no such file' : `it cannot be read (${codeOf(cause)})`
    return { problem: `: ${why}`, isUnreadable: true, cause }
  }
  return imageOf(bytes)
}

/** An image from its bytes; its type is what they are, whatever its name says. */
export function imageOf(bytes: Buffer): ReadImage {
  if (bytes.length > mostImageBytes)
    return {
      problem: ` has ${bytes.length} bytes, and a picture may have ${mostImageBytes}; make it smaller`,
      isTooLarge: true,
    }
  const data = bytes.toString('base64')
  const info = imageInfo(data)
  if (!info) return { problem: ' is not a PNG, JPEG, GIF or WebP; convert it to one of them' }
  return { image: { type: 'image', mediaType: info.type, data }, bytes: bytes.length }
}
