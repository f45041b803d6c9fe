import type { Message, SessionContentBlock } from '../../core/turn.ts'
import type { WireRules } from '../wire.ts'

/** How much of what is not text a conversation holds. */
export class MediaCount {
  #images = 0
  #length = 0

  add(message: Message): void {
    for (const block of mediaOf(message)) this.#count(block)
  }

  fits({ maxImages, maxTotalMediaLength }: Limits): boolean {
    return this.#images <= maxImages && this.#length <= maxTotalMediaLength
  }

  #count(block: Media): void {
    if (block.type === 'image') this.#images++
    this.#length += block.data.length
  }

  /**
   * How many images and documents, the oldest, have to be left out. What stays is half of what is allowed, so that the
   * beginning does not change again with the very next image; but the newest message may fill the whole allowance.
   */
  static excess(messages: readonly Message[], rules: WireRules): number {
    const half = { maxImages: rules.maxImages / 2, maxTotalMediaLength: rules.maxTotalMediaLength / 2 }
    const media = messages.map(mediaOf)
    const kept = new MediaCount()
    let left = media.reduce((sum, { length }) => sum + length, 0)
    for (let i = media.length - 1; i >= 0; i--)
      for (const block of media[i]!.reverse()) {
        kept.#count(block)
        if (!kept.fits(i === media.length - 1 ? rules : half)) return left
        left--
      }
    return 0
  }
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
