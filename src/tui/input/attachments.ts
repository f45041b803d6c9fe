import { withoutAttached } from '../../chat/attached-text.ts'
import type { OutgoingMessage } from '../../chat/chat.ts'
import { byteLength } from '../../core/text.ts'
import type { ImageBlock, PromptPart } from '../../core/turn.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { formatSize, pluralize } from '../rows/format.ts'

/** What stands in a message as one unit: a long paste, or an image. */
export type Attachment =
  | { readonly kind: 'paste'; readonly text: string }
  | { readonly kind: 'image'; readonly name: string; readonly bytes: number; readonly image: ImageBlock }

/** Text and attachments in their order: a message in pieces that can be stored as JSON. */
export type Piece = string | Attachment

/** The pieces of a message that was not sent after all, for the editor: images stand where their labels were. */
export function piecesOf({ text, parts = [{ type: 'text', text }] }: OutgoingMessage): readonly Piece[] {
  const pieces: Piece[] = []
  let rest = withoutAttached(parts)
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('\n')
  for (const [i, image] of parts.filter((part) => part.type === 'image').entries()) {
    const label = new RegExp(`\\[image ${i + 1}: (.*?), [\\d.]+ \\w+\\]`).exec(rest)
    if (label) pieces.push(rest.slice(0, label.index))
    if (label) rest = rest.slice(label.index + label[0].length)
    const bytes = Math.floor((image.data.length * 3) / 4)
    pieces.push({ kind: 'image', name: label?.[1] ?? 'image', bytes, image })
  }
  return [...pieces, rest].filter((piece) => piece !== '')
}

/**
 * The attachments of a message. In the text each is a mark of one UTF-16 unit, half a surrogate pair: `cleanText` removes
 * such halves from everything that is typed or pasted, so no text can pass for an attachment.
 */
export class Attachments {
  #items: { readonly attachment: Attachment; readonly label: string }[] = []
  #counts = { paste: 0, image: 0 }

  /** The mark for the text; `undefined` if there are too many. */
  add(attachment: Attachment): string | undefined {
    if (this.#items.length >= most) return undefined
    const number = ++this.#counts[attachment.kind]
    this.#items.push({ attachment, label: labelFor(attachment, number) })
    return String.fromCharCode(firstMark + this.#items.length - 1)
  }

  get(mark: string): Attachment | undefined {
    return this.#at(mark)?.attachment
  }

  /** What is shown in place of a mark: `[paste 1: 214 lines, 9 kB]`. */
  label(mark: string): string | undefined {
    return this.#at(mark)?.label
  }

  /** The text with labels in place of marks. */
  shown(text: string): string {
    return text.replace(marks, (mark) => this.label(mark) ?? '')
  }

  /** The text with pastes in place, and labels for images. */
  full(text: string): string {
    return text.replace(marks, (mark) => {
      const attachment = this.get(mark)
      return attachment?.kind === 'paste' ? attachment.text : (this.label(mark) ?? '')
    })
  }

  /** What the model gets: the full text, then the images that it names. `undefined` if there is only text. */
  parts(text: string): PromptPart[] | undefined {
    const found = text.match(marks)
    if (!found) return undefined
    const images = found.map((mark) => this.get(mark)).filter((item) => item?.kind === 'image')
    return [{ type: 'text', text: this.full(text) }, ...images.map(({ image }) => image)]
  }

  pieces(text: string): Piece[] {
    if (this.#items.length === 0) return text === '' ? [] : [text] // asked for with each key
    return text
      .split(markOrText)
      .map((piece) => this.get(piece) ?? piece)
      .filter((piece) => piece !== '')
  }

  clear(): void {
    this.#items = []
    this.#counts = { paste: 0, image: 0 }
  }

  #at(mark: string) {
    return mark.length === 1 ? this.#items[mark.charCodeAt(0) - firstMark] : undefined
  }
}

/** Finds the marks in a text; half of an emoji is none. */
export const anyMark = /[\udc00-\udfff]/gu

/** Whether a grapheme cluster is the mark of an attachment. */
export const isMark = (grapheme: string): boolean => grapheme >= '\udc00' && grapheme <= '\udfff'

const firstMark = 0xdc00
const most = 1024
const marks = /[\udc00-\udfff]/gu
const markOrText = /([\udc00-\udfff])/u

function labelFor(attachment: Attachment, number: number): string {
  if (attachment.kind === 'image')
    return `[image ${number}: ${visibleName(attachment.name)}, ${formatSize(attachment.bytes)}]`
  return `[paste ${number}: ${pluralize(lineCount(attachment.text), 'line')}, ${formatSize(byteLength(attachment.text))}]`
}

/** The newline at the end of the last line begins no further one. */
export function lineCount(text: string): number {
  let count = text.endsWith('\n') ? 0 : 1
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++
  return count
}
