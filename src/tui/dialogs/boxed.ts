import { own } from '../terminal/marks.ts'
import type { Paint, Terminal } from '../terminal/terminal.ts'
import { wrapToWidth } from '../terminal/text-width.ts'

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
    return wrapToWidth(line.replaceAll('\t', '    '), room).map((row, i) => {
      const text = style ? paint[style](row) : row
      return `${paint.dim(own(i === 0 ? '│' : '┆'))} ${text}`
    })
  })
}

/** The style of a line. Called for each line in order. */
export type LineStyle = (line: string) => keyof Paint | undefined
