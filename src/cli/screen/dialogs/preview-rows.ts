import type { FilePreview } from '../../../core/tool-preview.ts'
import { fullyVisible } from '../../../platform/visible-text.ts'
import { aroundChanges } from '../../../tools/text/around-changes.ts'
import type { Terminal } from '../terminal.ts'
import { boxed, type LookOf } from './boxed.ts'

/** The diff of one file in colour, in so many rows of the screen at most, with a note of what is not shown. */
export function previewRows(
  { diff = '', moreLines = 0 }: FilePreview,
  terminal: Pick<Terminal, 'columns' | 'rows' | 'paint'>,
): string[] {
  const lines = diff === '' ? [] : fullyVisible(diff, { lines: 'kept' }).split('\n')
  const most = Math.max(fewestRows, terminal.rows - rowsForTheRest)
  // Of a line without an end something is to be seen, and of the line that takes its place, too.
  const mostOfLine = Math.floor(most / 3)
  const rows: string[] = []
  let whole = 0
  for (const line of aroundChanges(lines, (mostOfLine - 1) * Math.max(8, terminal.columns - 3))) {
    const all = boxed([line], terminal, diffLook)
    const more =
      all.length > mostOfLine ? [...all.slice(0, mostOfLine - 1), ...note('… this line goes on', terminal)] : all
    if (rows.length + more.length > most) break
    rows.push(...more)
    whole++
  }
  const left = lines.length - whole + moreLines
  if (left === 0) return rows
  const what = left === 1 ? 'line of this diff is' : 'lines of this diff are'
  return [...rows, ...note(`… ${left} more ${what} not shown`, terminal)]
}

const note = (text: string, terminal: Pick<Terminal, 'columns' | 'paint'>): string[] =>
  boxed([text], terminal, () => 'yellow')

const fewestRows = 12
/** What stands above and below a diff: the call, and the choices. */
const rowsForTheRest = 18

const diffLook: LookOf = (line) => {
  if (line.startsWith('+')) return 'green'
  if (line.startsWith('-')) return 'red'
  return line.startsWith('@@') ? 'cyan' : 'dim'
}
