import type { Tokens } from 'marked'
import { type Canvas, narrowest } from '../block-painter.ts'

/** Items with their bullets or numbers, tasks with their boxes, and whatever stands in them. */
export function list({ ordered, start, items, loose }: Tokens.List, canvas: Canvas): string[] {
  const first = typeof start === 'number' ? start : 1
  const wide = ordered ? `${first + items.length - 1}. `.length : 2
  return items.flatMap((item, i) => {
    const mark = ordered ? `${first + i}. `.padStart(wide) : bulletOf(item)
    const tokens = item.tokens.filter(({ type }) => type !== 'checkbox')
    const lines = canvas.blocks(tokens, Math.max(narrowest, canvas.width - wide), loose ? 'loose' : 'tight')
    const marked = (lines.length > 0 ? lines : ['']).map((line, at) => indented(line, at, mark, wide))
    return loose && i > 0 ? ['', ...marked] : marked
  })
}

function bulletOf({ task, checked }: Tokens.ListItem): string {
  if (!task) return '• '
  return checked ? '☑ ' : '☐ '
}

function indented(line: string, at: number, mark: string, wide: number): string {
  if (at === 0) return mark + line
  return line === '' ? '' : ' '.repeat(wide) + line
}
