import type { ToolResultContent } from '../../core/turn.ts'
import { headOf, tailOf } from '../definitions/shortened.ts'

/** The same parts with at most so many bytes of text: the beginning, a mark that says how much is missing, and the end. */
export function shortenTexts(parts: readonly ToolResultContent[], most: number): ToolResultContent[] {
  const sizes = parts.map((part) => (part.type === 'text' ? Buffer.byteLength(part.text) : 0))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  if (total <= most) return [...parts]
  const tailFrom = total - Math.floor(most / 4)
  const headTo = most - Math.floor(most / 4)
  const mark = `[… ${total - most} of ${total} bytes of text left out here …]`
  let isMarked = false
  let at = 0
  return parts.flatMap((part, i): ToolResultContent[] => {
    if (part.type !== 'text') return [part]
    const from = at
    at += sizes[i]!
    if (at <= headTo || from >= tailFrom) return [part]
    const head = from < headTo ? headOf(part.text, headTo - from) : ''
    const tail = at > tailFrom ? tailOf(part.text, at - tailFrom) : ''
    const shown = [head, isMarked ? '' : mark, tail].filter((text) => text !== '')
    isMarked = true
    return shown.length === 0 ? [] : [{ type: 'text', text: shown.join('\n') }]
  })
}
