import { diffBody } from '../../chat/diff-counts.ts'
import { visibleName } from '../../platform/visible-text.ts'
import type { Paint } from '../terminal/paint.ts'
import { cutToWidth } from '../terminal/text-width.ts'

/** A unified diff without its file header, coloured and cut to `columns` and `mostLines`. */
export function diffLines(diff: string, paint: Paint, columns: number, mostLines = 40): string[] {
  const lines = diffBody(diff)
  const shown = lines.slice(0, lines.length > mostLines ? mostLines - 1 : mostLines)
  const painted = shown.map((line) => diffLine(cutToWidth(visibleLine(line), columns), paint))
  const more = lines.length - shown.length
  return more > 0 ? [...painted, paint.dim(`… ${more} more lines`)] : painted
}

/** One line of a diff in its colour. The line must be free of control characters. */
export const diffLine = (line: string, paint: Paint): string => paint[diffStyle(line)](line)

export function diffStyle(line: string): 'green' | 'red' | 'cyan' | 'dim' {
  if (line.startsWith('+')) return 'green'
  if (line.startsWith('-')) return 'red'
  return line.startsWith('@@') ? 'cyan' : 'dim'
}

const visibleLine = (line: string): string => visibleName(line.replace(/\r$/, '').replaceAll('\t', '    '))
