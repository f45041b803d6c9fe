import type { Tokens } from 'marked'
import { own } from '../terminal/marks.ts'
import { textWidth } from '../terminal/text-width.ts'
import type { BlockContext } from './blocks.ts'
import { inlineSpans } from './inline.ts'
import { type Span, wrapSpans } from './spans.ts'

/** A table fitted to the width, or a list of its rows if the columns would be too narrow to read. */
export function table({ header, rows, align }: Tokens.Table, context: BlockContext): string[] {
  const { paint, width } = context
  const head = header.map(({ tokens }) => inlineSpans(tokens, context, paint.bold))
  const body = rows.map((row) => row.map(({ tokens }) => inlineSpans(tokens, context)))
  const wanted = head.map((cell, i) => Math.max(1, cellWidth(cell), ...body.map((row) => cellWidth(row[i] ?? []))))
  const room = width - gap.length * (wanted.length - 1)
  const widths = fitWidths(wanted, room)
  if (!widths) return asList(head, body, context)
  const line = (cells: readonly (readonly Span[])[]): string[] => rowLines(cells, widths, align)
  const rule = paint.dim(own(widths.map((wide) => '─'.repeat(wide)).join('──')))
  return [...line(head), rule, ...body.flatMap(line)]
}

const gap = '  '
/** No column is narrowed below this. */
const narrowestColumn = 6

const cellWidth = (cell: readonly Span[]): number => cell.reduce((sum, { text }) => sum + textWidth(text), 0)

/** Narrows the widest columns until all fit; `undefined` if they cannot. */
function fitWidths(wanted: readonly number[], room: number): number[] | undefined {
  const least = wanted.reduce((sum, wide) => sum + Math.min(wide, narrowestColumn), 0)
  if (least > room) return undefined
  const sum = (limit: number): number => wanted.reduce((all, wide) => all + Math.min(wide, limit), 0)
  let [low, high] = [narrowestColumn, Math.max(narrowestColumn, ...wanted)]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (sum(middle) <= room) low = middle
    else high = middle - 1
  }
  return wanted.map((wide) => Math.min(wide, low))
}

function rowLines(
  cells: readonly (readonly Span[])[],
  widths: readonly number[],
  align: Tokens.Table['align'],
): string[] {
  const wrapped = widths.map((wide, i) => wrapSpans(cells[i] ?? [], wide))
  const height = Math.max(...wrapped.map((lines) => lines.length))
  return Array.from({ length: height }, (_, row) =>
    widths
      .map((wide, i) => aligned(wrapped[i]?.[row] ?? '', wide, align[i]))
      .join(gap)
      .trimEnd(),
  )
}

function aligned(text: string, wide: number, align: 'left' | 'right' | 'center' | null | undefined): string {
  const free = Math.max(0, wide - textWidth(text))
  const left = align === 'right' ? free : align === 'center' ? Math.floor(free / 2) : 0
  return ' '.repeat(left) + text + ' '.repeat(free - left)
}

function asList(head: readonly Span[][], body: readonly Span[][][], { width }: BlockContext): string[] {
  const colon: Span = { text: ': ', style: (text) => text }
  return body.flatMap((row, at) => [
    ...(at > 0 ? [''] : []),
    ...row.flatMap((cell, i) => wrapSpans([...(head[i] ?? []), colon, ...cell], width)),
  ])
}
