import type { ApprovePayload } from '../../authority/interaction/consent.ts'
import { isRecord } from '../../core/is-record.ts'
import { type EditPreview, type FilePreview, parsePreview } from '../../core/tool.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { aroundChanges } from '../../tools/text/diff.ts'
import { diffStyle } from '../rows/diff-lines.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { boxed, type LineStyle } from './boxed.ts'

/** A call that needs approval, as it is shown. */
export interface ApprovalCall {
  readonly id: string
  readonly title: string
  readonly lines: readonly string[]
  /** The changes to files, shown instead of the arguments. */
  readonly files: readonly FilePreview[]
  /** Warnings. */
  readonly notes: readonly string[]
  /** The tool and its main argument, on one line. */
  readonly summary: string
  /** What each edit would change, if they can be decided about one by one. */
  readonly edits: readonly EditPreview[]
}

type Payload = Readonly<Record<string, unknown>>

/** The calls of a question. Their texts are made visible again, because any program may have sent the question. */
export function approvalCalls(payload: Payload): ApprovalCall[] {
  const { calls } = payload
  const several = Array.isArray(calls) ? calls.filter(isRecord) : []
  const list = several.length > 0 ? several : [payload]
  return list.map((one) => approvalCall(one as Partial<ApprovePayload>))
}

/** A call as it is printed: title, description, changes to files, warnings. */
export function approvalRows({ title, lines, files, notes }: ApprovalCall, terminal: TerminalSize): string[] {
  const { paint } = terminal
  const styles = approvalStyles()
  const box = (rows: readonly string[]): string[] => boxed(rows, terminal, styles)
  const diffs = files.flatMap((file) => previewRows(file, terminal))
  return ['', paint.bold(paint.yellow(`? ${title}`)), ...box(lines), ...diffs, ...box(notes)]
}

type TerminalSize = Pick<Terminal, 'columns' | 'rows' | 'paint'>

function approvalCall(payload: Partial<ApprovePayload> & Payload): ApprovalCall {
  const { call, consent, description, stageExecutionId } = payload
  const tool = fullyVisible(String(payload.toolId ?? 'a tool'))
  const stage = stageExecutionId === undefined ? [] : [`for the stage: ${String(stageExecutionId)}`]
  const lines =
    consent?.lines ?? String(description ?? `arguments: ${String(payload.argsDigest ?? 'not known')}`).split('\n')
  const visible = [...stage, ...lines].flatMap((line) => fullyVisible(line, { lines: 'kept' }).split('\n'))
  const subject = subjectOf(visible) ?? fullyVisible(payload.approvalKey ?? '')
  return {
    id: call?.callId ?? '',
    title: fullyVisible(consent?.title ?? `Allow ${tool}?`),
    ...previewed(visible, payload.preview),
    summary: `${tool} ${subject}`.trim(),
    edits: editsOf(payload),
  }
}

/** Only edits that are all shown can be decided about. */
function editsOf({ edits: count, preview }: Payload): readonly EditPreview[] {
  const { edits = [] } = parsePreview(preview)?.files[0] ?? {}
  return edits.length === count ? edits : []
}

/** If diffs show all that a call does, they replace its arguments. */
function previewed(lines: readonly string[], preview: unknown): Pick<ApprovalCall, 'lines' | 'files' | 'notes'> {
  const { files = [] } = parsePreview(preview) ?? {}
  const at = lines.findIndex((line) => line.startsWith('arguments ('))
  const isComplete = at >= 0 && files.length > 0 && files.every(({ diff }) => diff !== undefined)
  if (!isComplete) return { lines, files: [], notes: [] }
  return { lines: lines.slice(0, at), files, notes: lines.slice(at).filter((line) => line.startsWith('note: ')) }
}

/** The main argument: the command, path or address, else the first one. */
function subjectOf(lines: readonly string[]): string | undefined {
  const at = lines.findIndex((line) => line.startsWith('arguments ('))
  if (at < 0) return undefined
  const main = lines.findIndex((line, i) => i > at && /^ {2}(?:command|path|file_path|url)(?:: | \()/.test(line))
  const row = main < 0 ? at + 1 : main
  const [, value] = /^ {2}[^:]*: (.*)$/.exec(lines[row] ?? '') ?? []
  return value ?? lines[row + 1]?.replace(/^ {4}[│⋮] /, '').concat(' …')
}

/** Styles for the lines of an approval: highlights commands and warnings, and colours the old and new text of an edit. */
export function approvalStyles(): LineStyle {
  let argument: string | undefined
  return (line) => {
    argument = /^ {2}(\w+)(?:: | \(\d+ lines\):$)/.exec(line)?.[1] ?? (line.startsWith('    ') ? argument : undefined)
    if (argument !== undefined && Object.hasOwn(argumentStyles, argument)) return argumentStyles[argument]
    if (/^(?:note|cannot be inspected|may run): |^ {5}mind: /.test(line)) return 'yellow'
    return /^ {2}\d+\. /.test(line) ? 'bold' : undefined
  }
}

const argumentStyles: Readonly<Record<string, 'bold' | 'red' | 'green'>> = {
  command: 'bold',
  old_string: 'red',
  new_string: 'green',
}

/** A coloured diff, as much of it as fits the screen, with a note of how much is not shown. */
export function previewRows({ diff = '', moreLines = 0 }: EditPreview, terminal: TerminalSize): string[] {
  const lines = diff === '' ? [] : fullyVisible(diff, { lines: 'kept' }).split('\n')
  const most = Math.max(fewestRows, terminal.rows - rowsForTheRest)
  // A very long line must leave room for the line that replaces it.
  const mostOfLine = Math.floor(most / 3)
  const rows: string[] = []
  let shownLines = 0
  for (const line of aroundChanges(lines, (mostOfLine - 1) * Math.max(8, terminal.columns - 3))) {
    const all = boxed([line], terminal, diffStyle)
    const more =
      all.length > mostOfLine ? [...all.slice(0, mostOfLine - 1), ...note('… this line goes on', terminal)] : all
    if (rows.length + more.length > most) break
    rows.push(...more)
    shownLines++
  }
  const left = lines.length - shownLines + moreLines
  if (left === 0) return rows
  const what = left === 1 ? 'line of this diff is' : 'lines of this diff are'
  return [...rows, ...note(`… ${left} more ${what} not shown`, terminal)]
}

const note = (text: string, terminal: TerminalSize): string[] => boxed([text], terminal, () => 'yellow')

const fewestRows = 12
/** Rows above and below a diff: the call and the choices. */
const rowsForTheRest = 18
