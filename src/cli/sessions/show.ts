import { textOf } from '../../core/turn.ts'
import { fullyVisible, visibleText } from '../../platform/visible-text.ts'
import { inboxOf } from '../../sessions/pending.ts'
import { formatDate } from '../../tui/rows/format.ts'
import { createPaint, hasColours, type Paint } from '../../tui/terminal/paint.ts'
import { exitCodes } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { jsonText } from '../text.ts'
import { findSession } from './find-session.ts'
import { requireSessionId, type SessionArgs, withStore } from './open-store.ts'
import { callStatus, decisionText, describeCall, outputText } from './transcript-view/call-text.ts'
import { editDiff } from './transcript-view/edit-diff.ts'
import { headerRows } from './transcript-view/header-rows.ts'
import {
  type CallPart,
  type MessagePart,
  readTranscriptView,
  type TranscriptPart,
  type TranscriptView,
  unplacedChildren,
} from './transcript-view/transcript-view.ts'

/** Lines of each input and output without `--full`. */
const fewLines = 8

/** `libero sessions show`. */
export async function show(
  { values, words }: SessionArgs<{ readonly full?: boolean; readonly json?: boolean }>,
  io: Io,
): Promise<number> {
  const idOrPrefix = requireSessionId(words, 'show')
  const { transcript, waiting } = await withStore(io, async (store) => {
    const transcript = await readTranscriptView(store, await findSession(store, idOrPrefix))
    const inbox = await inboxOf(store, transcript.id, transcript.head)
    return { transcript, waiting: inbox.filter(({ mode }) => mode !== 'answer' && mode !== 'stop') }
  })
  if (values.json) {
    io.out(jsonText({ ...transcript, ...(waiting.length > 0 && { waiting }) }))
    return exitCodes.done
  }
  const paint = createPaint({ colours: hasColours(io.stdout, io.env) })
  const lines = values.full ? Number.POSITIVE_INFINITY : fewLines
  if (transcript.title !== '') io.out(paint.bold(fullyVisible(transcript.title)))
  for (const [name, value] of headerRows(transcript))
    io.out(paint.dim(`${`${name}:`.padEnd(12)} ${fullyVisible(value)}`))
  for (const line of await transcriptLines(transcript, { paint, lines })) io.out(line)
  for (const { content } of waiting)
    io.out(`\n${paint.yellow('Sent: read when the run goes on')}\n${visibleText(textOf({ role: 'user', content }))}`)
  const next = nextStep(transcript)
  if (next !== undefined) io.err(next)
  return exitCodes.done
}

function nextStep({ id, status, attention, isHeld }: TranscriptView): string | undefined {
  const name = fullyVisible(id)
  if (isHeld) return undefined
  if (attention === 'answered') return `It was answered; continue with: libero sessions resume ${name}`
  if (attention === 'mail' && status !== 'waiting')
    return `A message waits; continue with: libero sessions resume ${name}`
  if (status === 'waiting') return `It waits for you: libero sessions answer ${name}`
  return status === 'parked' ? `libero sessions resume ${name} --unpark tries it again` : undefined
}

interface LineOptions {
  readonly paint: Paint
  /** The most lines of each input and output. */
  readonly lines: number
}

/** Lines for a terminal, with control characters visible. */
async function transcriptLines(transcript: TranscriptView, options: LineOptions, indent = ''): Promise<string[]> {
  const all: string[] = []
  for (const part of transcript.parts) {
    all.push(...(await partLines(part, options)).map((line) => indent + line))
    if (part.type !== 'call') continue
    for (const child of transcript.children)
      if (child.callId === part.id) all.push(...(await childLines(child, options, indent)))
  }
  for (const child of unplacedChildren(transcript)) all.push(...(await childLines(child, options, indent)))
  return all
}

async function childLines(child: TranscriptView, options: LineOptions, indent: string): Promise<string[]> {
  const head = `${indent}  ${options.paint.cyan('sub-agent')} ${fullyVisible(child.title)}`
  return [head, ...(await transcriptLines(child, options, `${indent}  │ `))]
}

async function partLines(part: TranscriptPart, options: LineOptions): Promise<string[]> {
  if (part.type === 'said') return messageLines(part, options)
  if (part.type === 'call') return callLines(part, options)
  return ['', ...options.paint.yellow(visibleText(part.text)).split('\n')]
}

function messageLines({ who, at, model, content }: MessagePart, { paint }: LineOptions): string[] {
  const name = who === 'user' ? paint.green('You') : paint.blue('Assistant')
  const by = model === undefined ? '' : ` ${fullyVisible(model)}`
  const lines = content.flatMap((block) => {
    if (block.type === 'text') return visibleText(block.text).split('\n')
    if (block.type === 'thinking') return paint.dim(visibleText(block.text)).split('\n')
    return [paint.dim(`[${block.type} ${fullyVisible(block.mediaType)}]`)]
  })
  return ['', `${paint.bold(name)}${paint.dim(`${by}, ${formatDate(at)}`)}`, ...lines]
}

async function callLines(part: CallPart, { paint, lines }: LineOptions): Promise<string[]> {
  const { tone, text } = callStatus(part)
  const mark = text === '' ? '' : ` (${{ good: paint.green, bad: paint.red, waits: paint.yellow }[tone](text)})`
  const diff = await editDiff(part.input)
  const json = (): string[] => fullyVisible(JSON.stringify(part.input, null, 2), { lines: 'kept' }).split('\n')
  const input = diff?.map((line) => paintDiffLine(paint, fullyVisible(line))) ?? (Number.isFinite(lines) ? [] : json())
  const output = part.output === undefined ? [] : visibleText(outputText(part.output)).trimEnd().split('\n')
  return [
    '',
    `${paint.cyan('•')} ${paint.bold(fullyVisible(part.name))} ${fullyVisible(describeCall(part))}${mark}`,
    ...part.approvals.map((one) => paint.dim(`    ${decisionText(one)}`)),
    ...firstLines(input, lines, paint),
    ...firstLines(output, lines, paint),
  ]
}

function firstLines(lines: readonly string[], most: number, paint: Paint): string[] {
  const shown = lines.slice(0, most).map((line) => `    ${line}`)
  return lines.length > most ? [...shown, paint.dim(`    … ${lines.length - most} more lines (--full)`)] : shown
}

const paintDiffLine = (paint: Paint, line: string): string => {
  if (line.startsWith('+')) return paint.green(line)
  return line.startsWith('-') ? paint.red(line) : line
}
