import { callTitle } from '../../chat/call-title.ts'
import { visibleName } from '../../platform/visible-text.ts'
import type { CallRow } from '../../view/rows.ts'
import type { Paint } from '../terminal/paint.ts'
import { cutToWidth, textWidth } from '../terminal/text-width.ts'
import { formatDuration } from './format.ts'

export interface CallLineStyle {
  readonly paint: Paint
  /** Paths are shown relative to it. */
  readonly cwd: string
  readonly columns: number
  /** The call is at work: its facts stand beside it, so that they are seen to move. */
  readonly isLive?: boolean
}

/**
 * The line of a call: mark, name, main argument, and facts. From 60 columns on the facts of a finished call stand at the
 * right; where they leave the argument too little room they get a line of their own.
 */
export function callLines(mark: string, row: CallRow, facts: string, style: CallLineStyle): string[] {
  const { paint, columns, cwd } = style
  const name = cutToWidth(visibleName(row.name), 40)
  const title = row.state === 'streaming' ? '' : callTitle(row.input, cwd)
  const head = `${mark} ${paint.bold(name)}`
  const left = columns - 4 - textWidth(name)
  const room = left - textWidth(facts) - 2
  if (facts !== '' && title !== '' && room < narrowest)
    return [`${head} ${cutToWidth(title, left)}`, `  ${paint.dim(facts)}`]
  const subject = title === '' ? '' : ` ${cutToWidth(title, facts === '' ? left : room)}`
  if (facts === '') return [`${head}${subject}`]
  const used = 2 + textWidth(name) + textWidth(subject)
  const gap = style.isLive ? 2 : gapBefore(facts, used, columns)
  return [`${head}${subject}${' '.repeat(gap)}${paint.dim(facts)}`]
}

/** At least two blanks. Far away from its call a fact would not be read with it. */
function gapBefore(facts: string, used: number, columns: number): number {
  if (columns < 60 || columns >= unknownWidth) return 2
  return Math.max(2, Math.min(columns - 1, widest) - used - textWidth(facts))
}

const narrowest = 8
const widest = 100
/** The width of lines that do not go to a terminal: these have no right edge. */
export const unknownWidth = 200

/** How long a call worked: always of a command, of others if it is more than a second. */
export function callDuration(row: CallRow): string | undefined {
  const { result } = row
  if (!result || result.outcome === 'blocked') return undefined
  const took = result.at - (begunAt(row) || result.at)
  const isCommand = typeof row.input.command === 'string'
  return took > (isCommand ? 50 : 1000) ? formatDuration(took) : undefined
}

/** By the log's clock, and without the time that a person took to answer; 0 if it is unknown. */
function begunAt({ at, started, approvals = [] }: CallRow): number {
  return Math.max(at, started?.at ?? 0, ...approvals.map(({ answer }) => answer?.at ?? 0))
}

/** The mark of a call that is over: done, refused or failed. */
export function callMark(row: CallRow, isGood: boolean, paint: Paint): string {
  if (isGood) return paint.green('✓')
  return row.result?.outcome === 'blocked' ? paint.dim(paint.red('⊘')) : paint.red('✗')
}
