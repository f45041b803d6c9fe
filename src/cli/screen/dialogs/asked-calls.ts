import type { ApprovePayload } from '../../../authority/interaction/consent.ts'
import { isRecord } from '../../../core/is-record.ts'
import { type FilePreview, readPreview } from '../../../core/tool-preview.ts'
import { fullyVisible } from '../../../platform/visible-text.ts'
import type { Terminal } from '../terminal.ts'
import { boxed } from './boxed.ts'
import { consentLooks } from './consent-looks.ts'
import { previewRows } from './preview-rows.ts'

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
  readonly about: string
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
  const looks = consentLooks()
  const box = (rows: readonly string[]): string[] => boxed(rows, terminal, looks)
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
    about: `${tool} ${subject}`.trim(),
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
