import { askCursor } from './pace.ts'
import { begin, clearRight, end } from './sequences.ts'

/**
 * Some of our marks take one column in most terminals and two in some, mostly East Asian ones. There they are replaced by
 * marks of one column, and the same characters in other texts are measured as two. Whether it is so is a fact of the
 * terminal, of which a process has one.
 */
let isWide = false

/** What replaces our marks where they would be wide. */
const narrow: Readonly<Record<string, string>> = {
  '·': '-',
  '…': '~',
  '│': '|',
  '┆': ':',
  '─': '-',
  '▌': '|',
  '•': '*',
  '–': '-',
}
const ambiguous = new RegExp(`[${Object.keys(narrow).join('')}]`, 'g')

/** A text of ours, with marks of one column. Never for text of others. */
export const own = (text: string): string => (isWide ? text.replace(ambiguous, (mark) => narrow[mark]!) : text)

/** Whether the terminal draws characters of ambiguous width over two columns. */
export const isAmbiguousWide = (): boolean => isWide

export function setAmbiguousWide(wide: boolean): void {
  isWide = wide
}

/** Draws a mark, asks where the cursor is behind it, and removes it, without being seen. */
export const askWidth = `${begin}\r·${askCursor}\r${clearRight}${end}`

/** The column of the answer, if the mark was wide. */
export const wideColumn = 3
