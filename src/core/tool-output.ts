import { byteLength } from './text.ts'
import type { DocumentBlock, ImageBlock, ToolOutput } from './turn.ts'

/** The size in bytes: UTF-8 of text, base64 of images and documents. `outputBytes` in hooks is this number. */
export function toolOutputByteLength(output: ToolOutput): number {
  if (typeof output === 'string') return byteLength(output)
  if (!Array.isArray(output)) return 0 // from a log of another program
  let sum = 0
  for (const part of output) sum += part.type === 'text' ? byteLength(part.text) : part.data.length
  return sum
}

/** A tool output as one text, for logs and for models that read text only. */
export function toolResultToText(output: ToolOutput): string {
  if (typeof output === 'string') return output
  return output.map((part) => (part.type === 'text' ? part.text : marker(part))).join('\n')
}

/** The output for a model without vision: each image is replaced by a marker. The same object if there is no image. */
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
