import type { Message, SessionContentBlock } from '../../core/turn.ts'
import type { WireRules } from '../wire.ts'

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
