import { headBytes, tailBytes } from '../../core/text.ts'
import type { SessionContentBlock, ToolCallBlock, ToolResultBlock } from '../../core/turn.ts'
import { bytesOf } from './sizes.ts'

/** A text of at most `most` bytes: its beginning, a note with its size, and its end. */
export function cutMiddle(text: string, most: number): string {
  const bytes = bytesOf(text)
  if (bytes <= most) return text
  const note = `\n[… ${bytes} bytes, cut to save space …]\n`
  const room = most - bytesOf(note)
  if (room < 40) return `${headBytes(text, most - 3)}…`
  const head = headBytes(text, Math.floor(room * 0.6))
  const tail = tailBytes(text, Math.floor(room * 0.4))
  return `${head}${note}${tail}`
}

/** The block, cut to about `most` bytes; undefined if it has to be hidden instead. */
export function shortened(block: SessionContentBlock, most: number): SessionContentBlock | undefined {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: cutMiddle(block.text, most) }
    case 'image':
    case 'document':
      return { type: 'text', text: cutMiddle(markerOf(block), most) }
    case 'tool_result':
      return { ...block, output: cutMiddle(outputText(block), most) }
    case 'tool_call':
      return {
        type: 'tool_call',
        id: block.id,
        name: block.name,
        input: shortInput(block, most),
        ...signed(block, most),
      }
    default:
      return undefined // thinking is signed by its service and cannot be cut
  }
}

/** A result as text. */
export function outputText({ output }: ToolResultBlock): string {
  if (typeof output === 'string') return output
  if (!Array.isArray(output)) return JSON.stringify(output) ?? ''
  return output.map((part) => (part?.type === 'text' ? String(part.text) : markerOf(part))).join('\n')
}

/** The text in place of an image or a document. */
export function markerOf(
  part: { readonly type: string; readonly mediaType?: unknown; readonly data?: unknown } | null,
): string {
  const bytes = Math.floor((bytesOf(part?.data) * 3) / 4)
  return `[${part?.type ?? 'nothing'}: ${String(part?.mediaType ?? 'unknown')}, ${bytes} bytes, left out to save space]`
}

/** The arguments with long texts cut; only a note if that is not enough. */
function shortInput({ input }: ToolCallBlock, most: number): Record<string, unknown> {
  const entries = Object.entries(input ?? {})
  const each = Math.floor((most - 20 * entries.length) / Math.max(entries.length, 1))
  const cut = entries.map(([name, value]) => [name, typeof value === 'string' ? cutMiddle(value, each) : value])
  const shorter = Object.fromEntries(cut) as Record<string, unknown>
  return each >= 20 && bytesOf(JSON.stringify(shorter)) <= most ? shorter : { note: '[left out]' }
}

/** Some services refuse a call without its signature. */
function signed({ providerData }: ToolCallBlock, most: number): Pick<ToolCallBlock, 'providerData'> {
  const isSmall = providerData !== undefined && bytesOf(JSON.stringify(providerData)) <= most
  return isSmall ? { providerData } : {}
}

/** The highest level to which all sizes can be cut so that their sum is at most `budget`. */
export function levelFor(sizes: readonly number[], budget: number): number {
  const ascending = sizes.toSorted((a, b) => a - b)
  let left = budget
  for (const [i, size] of ascending.entries()) {
    const share = left / (ascending.length - i)
    if (size > share) return Math.max(Math.floor(share), 0)
    left -= size
  }
  return Number.POSITIVE_INFINITY
}
