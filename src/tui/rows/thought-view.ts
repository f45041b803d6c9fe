import type { AnswerRow } from '../../view/rows.ts'
import type { Paint } from '../terminal/paint.ts'
import { formatDuration } from './format.ts'
import { thinkingLines } from './render-row.ts'

interface ThoughtOptions {
  readonly paint: Paint
  now(): number
  columns(): number
  /** The text is printed too, not only how long it took. */
  readonly isWhole?: boolean
}

/** The thinking of answers: when it is over, one line with its duration, or its whole text. */
export function createThoughtView({ paint, now, columns, isWhole = false }: ThoughtOptions) {
  let id: string | undefined
  /** How much of the answer's text and thinking was seen, and how much of the thinking is printed. */
  let [text, thinking, printed] = [0, 0, 0]
  /** When the thinking that is not printed yet began, if that was seen. */
  let since: number | undefined

  const lines = (thought: string, took: number | undefined): string[] => {
    if (thought.trim() === '') return []
    if (isWhole) return thinkingLines(thought, { paint, columns: columns() - 1, cwd: '' })
    const isKnown = took !== undefined && took >= 100
    return [paint.dim(isKnown ? `~ thought for ${formatDuration(took).replace('.0 s', ' s')}` : '~ thought')]
  }

  return {
    /** Takes an answer that is new or changed. Returns the lines to print before the rest of its text. */
    show(row: AnswerRow): string[] {
      if (row.id !== id) {
        ;[id, text, thinking, printed] = [row.id, 0, 0, 0]
        since = undefined
      }
      if (row.isOpen && row.thinking.length > thinking) since ??= now()
      const isOver = !row.isOpen || row.text.length > text
      text = row.text.length
      thinking = row.thinking.length
      if (!isOver || thinking <= printed) return []
      const shown = lines(row.thinking.slice(printed), since === undefined ? undefined : now() - since)
      printed = thinking
      since = undefined
      return shown
    },
    /** The lines of an answer that is over since long. */
    settled: (row: AnswerRow): string[] => lines(row.thinking, undefined),
  }
}
