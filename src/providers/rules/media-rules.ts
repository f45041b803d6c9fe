import type { DocumentBlock, ImageBlock, Message, SessionContentBlock, TextBlock } from '../../core/turn.ts'
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

/** How much of what is not text a conversation holds. */
export class MediaCount {
  #images = 0
  #length = 0

  add(message: Message): void {
    for (const block of mediaOf(message)) this.count(block)
  }

  fits({ maxImages, maxTotalMediaLength }: Limits): boolean {
    return this.#images <= maxImages && this.#length <= maxTotalMediaLength
  }

  count(block: Media): void {
    if (block.type === 'image') this.#images++
    this.#length += block.data.length
  }

  /**
   * How many images and documents, the oldest, have to be left out. When there are too many, half of what is allowed
   * stays, so that the beginning does not change again with the very next image; but the message that brought them may
   * fill the whole allowance. Walks forward as a conversation grows, so that it does not matter when it was looked at.
   */
  static excess(messages: readonly Message[], rules: WireRules): number {
    const half = { maxImages: rules.maxImages / 2, maxTotalMediaLength: rules.maxTotalMediaLength / 2 }
    const all: Media[] = []
    let left = 0
    let kept = new MediaCount()
    for (const message of messages) {
      const added = mediaOf(message)
      all.push(...added)
      for (const block of added) kept.count(block)
      if (kept.fits(rules)) continue
      const newest = all.length - added.length
      left = all.length - countBack(all, (i) => (i >= newest ? rules : half))
      kept = new MediaCount()
      for (const block of all.slice(left)) kept.count(block)
    }
    return left
  }
}

/** How many of the last ones fit, each by the limits that hold for it. */
function countBack(all: readonly Media[], limitsOf: (i: number) => Limits): number {
  const kept = new MediaCount()
  for (let i = all.length - 1; i >= 0; i--) {
    kept.count(all[i]!)
    if (!kept.fits(limitsOf(i))) return all.length - 1 - i
  }
  return all.length
}

type Limits = Pick<WireRules, 'maxImages' | 'maxTotalMediaLength'>
type Media = Extract<SessionContentBlock, { type: 'image' | 'document' }>

/** In order, those inside results too. */
function mediaOf({ content }: Message): Media[] {
  const media: Media[] = []
  for (const block of content)
    if (isMedia(block)) media.push(block)
    else if (block.type === 'tool_result' && typeof block.output !== 'string')
      for (const part of block.output) if (isMedia(part)) media.push(part)
  return media
}

export const isMedia = (block: SessionContentBlock): block is Media =>
  block.type === 'image' || block.type === 'document'
