import type { SessionContentBlock, ToolCallBlock, ToolResultBlock } from '../../core/turn.ts'
import { bytesOf } from './sizes.ts'

/** A text of at most `most` bytes: its beginning and its end, and between them how much is missing. */
export function cutMiddle(text: string, most: number): string {
  const bytes = bytesOf(text)
  if (bytes <= most) return text
  const note = `\n[… ${bytes} bytes, cut to save space …]\n`
  const room = most - bytesOf(note)
  if (room < 40) return `${firstBytes(text, most - 3)}…`
  const head = firstBytes(text, Math.floor(room * 0.6))
  const tail = lastBytes(text, Math.floor(room * 0.4))
  return `${head}${note}${tail}`
}

/** A block of at most about `most` bytes that stands for this one; undefined where it had better not be shown at all. */
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
      return undefined // thinking is shown as its service signed it, or not
  }
}

/** A result as text, whatever it holds. */
export function outputText({ output }: ToolResultBlock): string {
  if (typeof output === 'string') return output
  if (!Array.isArray(output)) return JSON.stringify(output) ?? ''
  return output.map((part) => (part?.type === 'text' ? String(part.text) : markerOf(part))).join('\n')
}

/** What stands in the place of something that is not text. */
export function markerOf(
  part: { readonly type: string; readonly mediaType?: unknown; readonly data?: unknown } | null,
): string {
  const bytes = Math.floor((bytesOf(part?.data) * 3) / 4)
  return `[${part?.type ?? 'nothing'}: ${String(part?.mediaType ?? 'unknown')}, ${bytes} bytes, left out to save space]`
}

/** The same arguments with what is long in them cut; where that does not help, only a note. */
function shortInput({ input }: ToolCallBlock, most: number): Record<string, unknown> {
  const entries = Object.entries(input ?? {})
  const each = Math.floor((most - 20 * entries.length) / Math.max(entries.length, 1))
  const cut = entries.map(([name, value]) => [name, typeof value === 'string' ? cutMiddle(value, each) : value])
  const shorter = Object.fromEntries(cut) as Record<string, unknown>
  return each >= 20 && bytesOf(JSON.stringify(shorter)) <= most ? shorter : { note: '[left out]' }
}

/** Some services refuse a call without what they signed it with. */
function signed({ providerData }: ToolCallBlock, most: number): Pick<ToolCallBlock, 'providerData'> {
  const isSmall = providerData !== undefined && bytesOf(JSON.stringify(providerData)) <= most
  return isSmall ? { providerData } : {}
}

function firstBytes(text: string, most: number): string {
  let bytes = 0
  let end = 0
  for (const char of text) {
    bytes += bytesOf(char)
    if (bytes > most) break
    end += char.length
  }
  return text.slice(0, end)
}

function lastBytes(text: string, most: number): string {
  let bytes = 0
  let start = text.length
  while (start > 0) {
    const code = text.codePointAt(start - 2) ?? 0
    const from = start - (start > 1 && code > 0xffff ? 2 : 1)
    bytes += bytesOf(text.slice(from, start))
    if (bytes > most) break
    start = from
  }
  return text.slice(start)
}

/** The highest level to which all sizes can be cut so that together they are no more than `budget`. */
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
