import type { ApprovePayload } from '../../../authority/interaction/consent.ts'
import { isRecord } from '../../../core/is-record.ts'
import { type FilePreview, readPreview } from '../../../core/tool.ts'
import { fullyVisible } from '../../../platform/visible-text.ts'
import { aroundChanges } from '../../../tools/text/diff.ts'
import type { Terminal } from '../terminal.ts'
import { boxed, type LineStyle } from './boxed.ts'

/** One of the calls that are asked about, as it is shown. */
export interface AskedCall {
  readonly id: string
  readonly title: string
  readonly lines: readonly string[]
  /** What it would make of files; stands in for the arguments. */
  readonly files: readonly FilePreview[]
  /** What to mind. */
  readonly notes: readonly string[]
  /** Tool and what it is about, on one line. */
  readonly summary: string
}

type Payload = Readonly<Record<string, unknown>>

/** The calls of a question, made fit for a terminal again: nobody knows who put it. */
export function askedCalls(payload: Payload): AskedCall[] {
  const { calls } = payload
  const several = Array.isArray(calls) ? calls.filter(isRecord) : []
  const list = several.length > 0 ? several : [payload]
  return list.map((one) => askedCall(one as Partial<ApprovePayload>))
}

/** A call as it stands in the scrollback: its title, what it is, and what it would change. */
export function askedRows({ title, lines, files, notes }: AskedCall, terminal: AskedPlace): string[] {
  const { paint } = terminal
  const styles = consentStyles()
  const box = (rows: readonly string[]): string[] => boxed(rows, terminal, styles)
  const diffs = files.flatMap((file) => previewRows(file, terminal))
  return ['', paint.bold(paint.yellow(`? ${title}`)), ...box(lines), ...diffs, ...box(notes)]
}

type AskedPlace = Pick<Terminal, 'columns' | 'rows' | 'paint'>

function askedCall(payload: Partial<ApprovePayload> & Payload): AskedCall {
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
  }
}

/** Where diffs tell all that a call does, they are shown in the place of its arguments. */
function previewed(lines: readonly string[], preview: unknown): Pick<AskedCall, 'lines' | 'files' | 'notes'> {
  const { files = [] } = readPreview(preview) ?? {}
  const at = lines.findIndex((line) => line.startsWith('arguments ('))
  const isTold = at >= 0 && files.length > 0 && files.every(({ diff }) => diff !== undefined)
  if (!isTold) return { lines, files: [], notes: [] }
  return { lines: lines.slice(0, at), files, notes: lines.slice(at).filter((line) => line.startsWith('note: ')) }
}

/** The argument that mostly says what it is about, a command or a path, else the first. */
function subjectOf(lines: readonly string[]): string | undefined {
  const at = lines.findIndex((line) => line.startsWith('arguments ('))
  if (at < 0) return undefined
  const telling = lines.findIndex((line, i) => i > at && /^ {2}(?:command|path|file_path|url)(?:: | \()/.test(line))
  const place = telling < 0 ? at + 1 : telling
  const [, value] = /^ {2}[^:]*: (.*)$/.exec(lines[place] ?? '') ?? []
  return value ?? lines[place + 1]?.replace(/^ {4}[│⋮] /, '').concat(' …')
}

/** How the lines of a consent style: commands and what to mind stand out, and what an edit takes away and puts there. */
export function consentStyles(): LineStyle {
  let argument: string | undefined
  return (line) => {
    argument = /^ {2}(\w+)(?:: | \(\d+ lines\):$)/.exec(line)?.[1] ?? (line.startsWith('    ') ? argument : undefined)
    if (argument !== undefined && Object.hasOwn(styles, argument)) return styles[argument]
    if (/^(?:note|cannot be inspected|may run): |^ {5}mind: /.test(line)) return 'yellow'
    return /^ {2}\d+\. /.test(line) ? 'bold' : undefined
  }
}

const styles: Readonly<Record<string, 'bold' | 'red' | 'green'>> = {
  command: 'bold',
  old_string: 'red',
  new_string: 'green',
}

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

const diffLook: LineStyle = (line) => {
  if (line.startsWith('+')) return 'green'
  if (line.startsWith('-')) return 'red'
  return line.startsWith('@@') ? 'cyan' : 'dim'
}
