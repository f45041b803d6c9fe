import type { Paint, Terminal } from '../terminal.ts'
import { graphemesOf, graphemeWidth, textWidth } from '../text-width.ts'

/**
 * Lines behind a margin, to set foreign text apart. A line that is wider than the screen continues behind a different
 * margin, so that no part of it looks like a line of its own. Nothing is cut.
 */
export function boxed(
  lines: readonly string[],
  { columns, paint }: Pick<Terminal, 'columns' | 'paint'>,
  lineStyle: LineStyle = () => undefined,
): string[] {
  const room = Math.max(8, columns - 3)
  return lines.flatMap((line) => {
    const style = lineStyle(line)
    return rowsOf(line.replaceAll('\t', '    '), room).map((row, i) => {
      const text = style ? paint[style](row) : row
      return `${paint.dim(i === 0 ? '│' : '┆')} ${text}`
    })
  })
}

/** The style of a line. Called for each line in order. */
export type LineStyle = (line: string) => keyof Paint | undefined

/** Breaks after a blank near the edge if there is one. Keeps every character. */
function rowsOf(line: string, room: number): string[] {
  const rows: string[] = []
  let row = ''
  let width = 0
  for (const grapheme of graphemesOf(line)) {
    const more = graphemeWidth(grapheme)
    if (width + more > room) {
      const blank = row.lastIndexOf(' ') + 1
      const end = blank > row.length - room / 3 ? blank : row.length
      rows.push(row.slice(0, end))
      row = row.slice(end)
      width = textWidth(row)
    }
    row += grapheme
    width += more
  }
  return [...rows, row]
}
