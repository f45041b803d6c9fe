import type { DocumentBlock, ImageBlock, TextBlock } from '../../core/turn.ts'
import { imageInfo, isBase64 } from '../../platform/image-info.ts'
import type { WireRules } from '../wire.ts'
import { cleaned } from './clean-text.ts'

/** Says which rule a block broke. */
export type Tell = (rule: string, detail?: string) => void

/** An image that a service will look at, else a note that one was there. */
export function fitImage(
  block: ImageBlock,
  { imageTypes, maxMediaLength }: WireRules,
  told: Tell,
): ImageBlock | TextBlock {
  const { data, mediaType } = block
  if (typeof data !== 'string' || !isBase64(data)) return leftOut(block, 'image-data', 'its data is broken', told)
  if (data.length > maxMediaLength) return leftOut(block, 'image-size', 'it is too large for this service', told)
  // Services look inside, and refuse what is not what it says.
  const type = imageInfo(data)?.type ?? mediaType
  if (type === mediaType && looksLike.has(type) && !imageInfo(data))
    return leftOut(block, 'image-data', `it is no ${type}`, told)
  if (!imageTypes.includes(type))
    return leftOut(block, 'image-type', `this service does not take ${cleaned(String(type))}`, told)
  if (type === mediaType) return block
  told('image-type', `${cleaned(String(mediaType))} is ${type}`)
  return { ...block, mediaType: type }
}

/** Types that `imageInfo` knows when it sees them. */
const looksLike = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** A document that a service will read, as text where it is one, else a note that one was there. */
export function fitDocument(
  block: DocumentBlock,
  { documentTypes, maxMediaLength, maxDocumentLength = maxMediaLength }: WireRules,
  told: Tell,
): DocumentBlock | TextBlock {
  const { data, mediaType } = block
  if (typeof data !== 'string' || !isBase64(data)) return leftOut(block, 'document-data', 'its data is broken', told)
  if (data.length > maxDocumentLength) return leftOut(block, 'document-size', 'it is too large for this service', told)
  if (mediaType === 'application/pdf' && !bytesOf(data.slice(0, pdfPrefix)).includes('%PDF'))
    return leftOut(block, 'document-data', 'it is no PDF', told)
  if (documentTypes.includes(mediaType)) return withCleanName(block, told)
  if (!isText.test(mediaType))
    return leftOut(block, 'document-type', `this service does not take ${cleaned(String(mediaType))}`, told)
  const { name } = withCleanName(block, told)
  const text = cleaned(new TextDecoder().decode(Uint8Array.from(bytesOf(data), (char) => char.charCodeAt(0))))
  if (text.trim() === '') return leftOut(block, 'document-data', 'it is empty', told)
  return { type: 'text', text: name === undefined ? text : `${name}:\n${text}` }
}

const isText = /^text\/|[/+](json|xml|yaml)$/

/** In base64 characters; what stands before the mark of a PDF may be a kilobyte long. */
const pdfPrefix = 1400

const bytesOf = (base64: string): string => atob(base64)

function withCleanName(block: DocumentBlock, told: Tell): DocumentBlock {
  const { name, ...document } = block
  if (name === undefined) return block
  const clean = typeof name === 'string' ? cleaned(name) : ''
  if (clean === name && clean.trim() !== '') return block
  told('document-name')
  return clean.trim() === '' ? document : { ...document, name: clean }
}

/** Says what is missing, so that the model does not wonder. */
export function leftOut(block: ImageBlock | DocumentBlock, rule: string, why: string, told: Tell): TextBlock {
  told(rule, why)
  return { type: 'text', text: `[${block.type} left out: ${why}]` }
}
