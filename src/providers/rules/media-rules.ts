import type { DocumentBlock, ImageBlock, Message, SessionContentBlock, TextBlock } from '../../core/turn.ts'
import { imageInfo, isBase64 } from '../../platform/image-info.ts'
import type { WireRules } from '../wire.ts'
import { cleaned } from './clean-text.ts'

/** Reports which rule a block broke. */
type ReportRule = (rule: string, detail?: string) => void

/** The image if the service accepts it, else a text that says that it was left out. */
export function repairImage(
  block: ImageBlock,
  { imageTypes, maxMediaLength }: WireRules,
  report: ReportRule,
): ImageBlock | TextBlock {
  const { data, mediaType } = block
  if (typeof data !== 'string' || !isBase64(data))
    return omissionNote(block, 'image-data', 'its data is broken', report)
  if (data.length > maxMediaLength) return omissionNote(block, 'image-size', 'it is too large for this service', report)
  // Services check the data, and refuse an image whose media type is wrong.
  const type = imageInfo(data)?.type ?? mediaType
  if (type === mediaType && recognisedTypes.has(type) && !imageInfo(data))
    return omissionNote(block, 'image-data', `it is no ${type}`, report)
  if (!imageTypes.includes(type))
    return omissionNote(block, 'image-type', `this service does not take ${cleaned(String(type))}`, report)
  if (type === mediaType) return block
  report('image-type', `${cleaned(String(mediaType))} is ${type}`)
  return { ...block, mediaType: type }
}

/** The types that `imageInfo` recognises. */
const recognisedTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** The document if the service accepts it, its text if it is a text, else a text that says that it was left out. */
export function repairDocument(
  block: DocumentBlock,
  { documentTypes, maxMediaLength, maxDocumentLength = maxMediaLength }: WireRules,
  report: ReportRule,
): DocumentBlock | TextBlock {
  const { data, mediaType } = block
  if (typeof data !== 'string' || !isBase64(data))
    return omissionNote(block, 'document-data', 'its data is broken', report)
  if (data.length > maxDocumentLength)
    return omissionNote(block, 'document-size', 'it is too large for this service', report)
  if (mediaType === 'application/pdf' && !bytesOf(data.slice(0, pdfPrefix)).includes('%PDF'))
    return omissionNote(block, 'document-data', 'it is no PDF', report)
  if (documentTypes.includes(mediaType)) return withCleanName(block, report)
  if (!isText.test(mediaType))
    return omissionNote(block, 'document-type', `this service does not take ${cleaned(String(mediaType))}`, report)
  const { name } = withCleanName(block, report)
  const text = cleaned(new TextDecoder().decode(Uint8Array.from(bytesOf(data), (char) => char.charCodeAt(0))))
  if (text.trim() === '') return omissionNote(block, 'document-data', 'it is empty', report)
  return { type: 'text', text: name === undefined ? text : `${name}:\n${text}` }
}

const isText = /^text\/|[/+](json|xml|yaml)$/

/** In base64 characters: the marker of a PDF may be preceded by a kilobyte. */
const pdfPrefix = 1400

const bytesOf = (base64: string): string => atob(base64)

function withCleanName(block: DocumentBlock, report: ReportRule): DocumentBlock {
  const { name, ...document } = block
  if (name === undefined) return block
  const clean = typeof name === 'string' ? cleaned(name) : ''
  if (clean === name && clean.trim() !== '') return block
  report('document-name')
  return clean.trim() === '' ? document : { ...document, name: clean }
}

/** The text that the model gets in place of an image or a document. */
export function omissionNote(
  block: ImageBlock | DocumentBlock,
  rule: string,
  why: string,
  report: ReportRule,
): TextBlock {
  report(rule, why)
  return { type: 'text', text: `[${block.type} left out: ${why}]` }
}

/** Counts the images and documents of a conversation. */
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
   * How many images and documents must be left out, the oldest first. Once there are too many, only half of the limit is
   * kept, so that the start of the conversation does not change with every further image; the newest message may use the
   * whole limit. Messages are counted in order, so the outcome does not depend on when this was called before.
   */
  static excess(messages: readonly Message[], rules: WireRules): number {
    const half = { maxImages: rules.maxImages / 2, maxTotalMediaLength: rules.maxTotalMediaLength / 2 }
    const all: Media[] = []
    let omitted = 0
    let kept = new MediaCount()
    for (const message of messages) {
      const added = mediaOf(message)
      all.push(...added)
      for (const block of added) kept.count(block)
      if (kept.fits(rules)) continue
      const newest = all.length - added.length
      omitted = all.length - countFromEnd(all, (i) => (i >= newest ? rules : half))
      kept = new MediaCount()
      for (const block of all.slice(omitted)) kept.count(block)
    }
    return omitted
  }
}

/** How many fit, counted from the newest, each within its own limits. */
function countFromEnd(all: readonly Media[], limitsOf: (i: number) => Limits): number {
  const kept = new MediaCount()
  for (let i = all.length - 1; i >= 0; i--) {
    kept.count(all[i]!)
    if (!kept.fits(limitsOf(i))) return all.length - 1 - i
  }
  return all.length
}

type Limits = Pick<WireRules, 'maxImages' | 'maxTotalMediaLength'>
type Media = Extract<SessionContentBlock, { type: 'image' | 'document' }>

/** The images and documents of a message in order, including those in results. */
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
