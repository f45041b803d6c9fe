import { graphemesOf, graphemeWidth } from '../terminal/text-width.ts'

/** A row without colours, with a drawn cursor in this column. */
export function withCursor(row: string, column: number): string {
  let [before, width] = ['', 0]
  for (const grapheme of graphemesOf(row)) {
    if (width >= column) return `${before}${underCursor(grapheme)}${row.slice(before.length + grapheme.length)}`
    before += grapheme
    width += graphemeWidth(grapheme)
  }
  return `${row}${underCursor(' ')}`
}

const underCursor = (text: string): string => `\x1b[7m${text}\x1b[27m`
