import { callOutcome, callTitle } from '../../chat/describe-call.ts'
import { visibleName } from '../../platform/visible-text.ts'
import type { CallResultView, CallRow } from '../../view/rows.ts'
import { wrapLine } from '../markdown/spans.ts'
import { own } from '../terminal/marks.ts'
import type { Paint } from '../terminal/paint.ts'
import { cutToWidth } from '../terminal/text-width.ts'
import { callDuration, callLines, callMark } from './call-lines.ts'
import { diffLines } from './diff-lines.ts'
import { formatDuration, formatSize } from './format.ts'
import { todoLines, todosOf } from './todo-lines.ts'

interface CallsOptions {
  readonly paint: Paint
  readonly cwd: string
  now(): number
  columns(): number
  /** Whether questions about calls are asked at this terminal. Default: they are. */
  isAskedHere?(): boolean
}

/** The calls of an agent: open ones as live lines, finished ones as lines that stay. */
export function createCallsView({ paint, cwd, now, columns, isAskedHere = () => true }: CallsOptions) {
  /** Since when each open call is in its state, by our clock: the log may be of another machine. */
  const open = new Map<string, { readonly state: CallRow['state']; readonly since: number }>()

  /** Files that were read one after the other; they become one line when something else is printed. */
  let reads: CallRow[] = []

  /** `isNews`: it ends now, below the dialog that asked about it here, if one did. */
  const ended = (row: CallRow, result: CallResultView, isNews: boolean): string[] => {
    const answer = isNews && isAskedHere() ? answerHere(row) : undefined
    if (answer?.decision === 'deny' && result.outcome === 'blocked') return []
    const { isGood, summary, problem, diff: whole } = callOutcome(result)
    const diff = answer?.decision === 'allow' && isShort(whole) && isPreviewed(row, whole) ? undefined : whole
    const took = callDuration(row)
    const facts = [own(summary), ...(took === undefined ? [] : [took])].join(own(' · '))
    const todos = todosOf(result.details) ?? []
    return [
      ...titled(callMark(row, isGood, paint), row, facts),
      ...problem.flatMap((line) => problemLines(line)),
      ...(diff === undefined ? [] : diffLines(diff, paint, columns() - 3).map((line) => `  ${line}`)),
      ...todoLines(todos, { paint, columns: columns() - 3 }).map((line) => `  ${line}`),
    ]
  }

  /** At most two rows. */
  const problemLines = (line: string): string[] => {
    const room = Math.max(20, columns() - 3)
    return wrapLine(cutToWidth(line, 2 * room - 10), paint.red, room).map((row) => `  ${row}`)
  }

  /** One line for several files, each line of its own for other calls. */
  const readLines = (rows: readonly CallRow[]): string[] => {
    const files = [...new Set(rows.map(({ input }) => callTitle(input, cwd)))]
    if (files.length < 2) return rows.flatMap((row) => ended(row, row.result!, false))
    const head = `${paint.green('✓')} ${paint.bold('read')} ${files.length} files`
    return [cutToWidth(`${head}  ${paint.dim(files.join(', '))}`, columns() - 1)]
  }

  const titled = (mark: string, row: CallRow, facts: string): string[] =>
    callLines(mark, row, facts, { paint, cwd, columns: columns(), isLive: row.result === undefined })

  const state = ({ id, state, waitsFor, live }: CallRow, at: number): string => {
    const written = live?.args?.length ?? 0
    if (state === 'streaming') return written > 200 ? `writing, ${formatSize(written)}` : ''
    if (waitsFor) return waitWords[waitsFor]
    const took = at - (open.get(id)?.since ?? at)
    return took >= 1000 ? formatDuration(Math.floor(took / 1000) * 1000).replace('.0 s', ' s') : ''
  }

  return {
    /** Takes a row that is new or changed. Returns the lines to print. */
    show(row: CallRow): string[] {
      if (!row.result) {
        if (open.get(row.id)?.state !== row.state) open.set(row.id, { state: row.state, since: now() })
        return []
      }
      open.delete(row.id)
      if (!isFileRead(row, row.result)) return ended(row, row.result, true)
      reads.push(row)
      return []
    },
    /** The lines of files that were read and are not printed yet: to be printed before anything else. */
    takeReads(): string[] {
      const lines = readLines(reads)
      reads = []
      return lines
    },
    /** The lines of calls that were over before, in their order. */
    settled(rows: readonly CallRow[]): string[] {
      const lines: string[] = []
      let group: CallRow[] = []
      for (const row of rows) {
        if (!row.result) continue
        if (isFileRead(row, row.result)) group.push(row)
        else {
          lines.push(...readLines(group), ...ended(row, row.result, false))
          group = []
        }
      }
      return [...lines, ...readLines(group)]
    },
    /** A line for each of these calls, and one for its progress. */
    live(
      rows: readonly CallRow[],
      { spinner, at, most: room }: { spinner: string; at: number; most: number },
    ): string[] {
      const done = readLines(reads).slice(-Math.max(0, room))
      const most = room - done.length
      const progress = rows.map(({ live }) => lastLine(live?.progress))
      const withProgress = rows.length + progress.filter((line) => line !== '').length <= most
      const shown = rows.length > most ? rows.slice(0, Math.max(0, most - 1)) : rows
      const lines = shown.flatMap((row, i) => [
        titled(paint.cyan(spinner), row, state(row, at))[0]!,
        ...(withProgress && progress[i] !== '' ? [paint.dim(`  ${progress[i]}`)] : []),
      ])
      const more = shown.length < rows.length ? [paint.dim(`… and ${rows.length - shown.length} more`)] : []
      return [...done, ...lines, ...more]
    },
    /** The run ended: lines for those of its open calls that wait for a person. */
    end(rows: readonly CallRow[]): string[] {
      open.clear()
      return rows.flatMap((row) => (row.waitsFor ? titled(paint.yellow('?'), row, waitWords[row.waitsFor]) : []))
    },
  }
}

/** A file that was read without a problem: what was read is in the transcript viewer. */
function isFileRead({ name, input }: CallRow, result: CallResultView): boolean {
  return name === 'read_file' && typeof input.path === 'string' && callOutcome(result).isGood
}

const waitWords = { permission: 'waits for approval', answer: 'waits for an answer' }

/** What the person at the terminal of the run answered, and has seen there. */
function answerHere({ id, approvals = [] }: CallRow) {
  const answer = approvals.findLast(({ callId }) => callId === id)?.answer
  return answer?.by === 'user' && answer.clientKey === undefined ? answer : undefined
}

/** Whether the dialog has shown this diff. */
function isPreviewed({ approvals = [] }: CallRow, diff: string | undefined): boolean {
  const files = approvals.at(-1)?.preview?.files ?? []
  return files.some((file) => file.diff !== undefined && diffBody(file.diff) === diffBody(diff ?? ''))
}

/** A dialog may have cut a longer one. */
const isShort = (diff = ''): boolean => diff.split('\n').length <= 12

const diffBody = (diff: string): string => diff.slice(Math.max(0, diff.indexOf('@@'))).trimEnd()

/** The last line of a tool's progress that is not blank. */
function lastLine(text = ''): string {
  const line = text
    .slice(-2000)
    .trimEnd()
    .split(/[\r\n]+/)
    .at(-1)
  return line ? visibleName(line.trim().slice(0, 500)) : ''
}
