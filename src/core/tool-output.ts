import { byteLength } from './text.ts'
import type { DocumentBlock, ImageBlock, ToolOutput } from './turn.ts'

/** Bytes on the wire: UTF-8 length of text, base64 length of images and documents. The same number as `outputBytes` in hooks. */
export function toolOutputByteLength(output: ToolOutput): number {
  if (typeof output === 'string') return byteLength(output)
  if (!Array.isArray(output)) return 0 // from a log that nobody of ours wrote
  let sum = 0
  for (const part of output) sum += part.type === 'text' ? byteLength(part.text) : part.data.length
  return sum
}

/** One text out of any tool output, for logs and for models that read nothing else. */
export function toolResultToText(output: ToolOutput): string {
  if (typeof output === 'string') return output
  return output.map((part) => (part.type === 'text' ? part.text : marker(part))).join('\n')
}

/** The same output for a model that cannot see; untouched, and the same object, where there is no image. */
export function withoutImages(output: ToolOutput): ToolOutput {
  if (typeof output === 'string' || !output.some((part) => part.type === 'image')) return output
  return output.map((part) => (part.type === 'image' ? { type: 'text', text: imageMarker(part) } : part))
}

export const imageMarker = ({ mediaType, data }: ImageBlock): string =>
  `[image: ${mediaType}, ${Math.floor((data.length * 3) / 4)} bytes, not shown because this model cannot see images]`

const marker = (part: ImageBlock | DocumentBlock): string =>
  part.type === 'image'
    ? imageMarker(part)
    : `[document: ${part.name ?? part.mediaType}, ${Math.floor((part.data.length * 3) / 4)} bytes]`
