import type { FilePreview } from '../../../core/tool-preview.ts'
import { fullyVisible } from '../../../platform/visible-text.ts'
import type { Terminal } from '../terminal.ts'
import { boxed, type LookOf } from './boxed.ts'

/** The diff of one file in colour, in so many rows of the screen at most, with a note of what is not shown. */
export function previewRows(
  { diff = '', moreLines = 0 }: FilePreview,
  terminal: Pick<Terminal, 'columns' | 'rows' | 'paint'>,
): string[] {
  const lines = diff === '' ? [] : fullyVisible(diff, { lines: 'kept' }).split('\n')
  const most = Math.max(fewestRows, terminal.rows - rowsForTheRest)
  const rows: string[] = []
  let whole = 0
  for (const line of lines) {
    const more = boxed([line], terminal, diffLook)
    if (rows.length + more.length > most) break
    rows.push(...more)
    whole++
  }
  const left = lines.length - whole + moreLines
  if (left === 0) return rows
  const note = `… ${left} more ${left === 1 ? 'line' : 'lines'} of this diff ${left === 1 ? 'is' : 'are'} not shown`
  return [...rows, ...boxed([note], terminal, () => 'yellow')]
}

const fewestRows = 12
/** What stands above and below a diff: the call, and the choices. */
const rowsForTheRest = 18

const diffLook: LookOf = (line) => {
  if (line.startsWith('+')) return 'green'
  if (line.startsWith('-')) return 'red'
  return line.startsWith('@@') ? 'cyan' : 'dim'
}
