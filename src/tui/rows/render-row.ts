import { callOutcome } from '../../chat/describe-call.ts'
import type { SessionContentBlock, ToolOutput } from '../../core/turn.ts'
import { visibleName, visibleText } from '../../platform/visible-text.ts'
import type { AnswerRow, CallRow, MessageRow, Row } from '../../view/rows.ts'
import { createMarkdownRenderer } from '../markdown/render-markdown.ts'
import { wrapLine } from '../markdown/spans.ts'
import { own } from '../terminal/marks.ts'
import type { Paint } from '../terminal/paint.ts'
import { wrapToWidth } from '../terminal/text-width.ts'
import { callDuration, callLines, callMark } from './call-lines.ts'
import { diffLines } from './diff-lines.ts'
import { pluralize } from './format.ts'
import { todoLines, todosOf } from './todo-lines.ts'

export interface RowStyle {
  readonly paint: Paint
  readonly columns: number
  /** Paths are shown relative to it. */
  readonly cwd: string
}

/** A row of a session, whole: the output of its call unfolded, its thinking shown. */
export function renderRow(row: Row, style: RowStyle): string[] {
  switch (row.kind) {
    case 'message':
      return messageLines(row, style)
    case 'answer':
      return answerLines(row, style)
    case 'call':
      return wholeCall(row, style)
    case 'notice':
      return marked(own('·'), row.text, style.paint.dim, style)
    case 'compaction':
      return [
        ...marked(own('·'), 'Everything above is replaced by this summary in requests:', style.paint.dim, style),
        ...indented(blocksText(row.summary), style.paint.dim, style),
      ]
  }
}

/** What the person said behind `›`; what the program added behind `·`. */
function messageLines({ content, isNote }: MessageRow, style: RowStyle): string[] {
  const { paint } = style
  const text = blocksText(content).trimEnd()
  if (isNote) return marked(own('·'), text, paint.dim, style)
  return marked(paint.cyan('›'), text, plain, style)
}

function answerLines(row: AnswerRow, style: RowStyle): string[] {
  const { paint, columns } = style
  const text =
    row.text === ''
      ? []
      : createMarkdownRenderer(paint, { folder: style.cwd || undefined })(row.text, Math.min(columns, widest))
  const thinking = thinkingLines(row.thinking, style)
  return [
    ...thinking,
    ...(thinking.length > 0 && text.length > 0 ? [''] : []),
    ...text,
    ...(row.isInterrupted ? marked(own('·'), 'interrupted here', paint.dim, style) : []),
    ...(row.error === undefined ? [] : marked(paint.red('✗'), row.error, paint.red, style)),
  ]
}

/** Thinking, whole: dim, behind `~`. */
export function thinkingLines(text: string, style: RowStyle): string[] {
  return text.trim() === '' ? [] : marked(style.paint.dim('~'), text.trim(), style.paint.dim, style)
}

function wholeCall(row: CallRow, style: RowStyle): string[] {
  const { paint } = style
  const { result } = row
  if (!result) return callLines(row.waitsFor ? paint.yellow('?') : paint.cyan('…'), row, '', style)
  const { isGood, summary, diff } = callOutcome(result)
  const took = callDuration(row)
  const facts = [own(summary), ...(took === undefined ? [] : [took])].join(own(' · '))
  return [
    ...callLines(callMark(row, isGood, paint), row, facts, style),
    ...argumentLines(row, style),
    ...bodyLines(row, diff, style).map((line) => `    ${line}`),
  ]
}

/** Lines of a command that has several. */
function argumentLines({ input }: CallRow, style: RowStyle): string[] {
  const { command } = input
  if (typeof command !== 'string' || !command.trim().includes('\n')) return []
  return indented(command.trim(), style.paint.cyan, style)
}

function bodyLines({ result }: CallRow, diff: string | undefined, style: RowStyle): string[] {
  const { paint, columns } = style
  const todos = todosOf(result?.details)
  if (todos) return todoLines(todos, { paint, columns: columns - 4 })
  if (diff !== undefined) return diffLines(diff, paint, columns - 5, Number.POSITIVE_INFINITY)
  return result ? outputLines(result.output, columns - 5) : []
}

/** An output, whole, wrapped to the width. */
function outputLines(output: ToolOutput, columns: number): string[] {
  const text = typeof output === 'string' ? output : blocksText(output)
  const lines = visibleText(text.slice(0, mostOutput)).replaceAll('\r', '').trimEnd().split('\n')
  const rows = lines.flatMap((line) => wrapToWidth(line.replaceAll('\t', '    '), Math.max(8, columns)))
  const more = text.length - mostOutput
  return more > 0 ? [...rows, `… ${pluralize(more, 'character')} more; the log has them`] : rows
}

/** Longer outputs would make the viewer slow. */
const mostOutput = 1_000_000

/** A text behind a mark; further lines are indented as far. */
function marked(mark: string, text: string, style: (text: string) => string, { columns }: RowStyle): string[] {
  return linesOf(text, style, columns - 2).map((line, i) => (i === 0 ? `${mark} ${line}` : line && `  ${line}`))
}

function indented(text: string, style: (text: string) => string, { columns }: RowStyle): string[] {
  return linesOf(text, style, columns - 4).map((line) => line && `    ${line}`)
}

const linesOf = (text: string, style: (text: string) => string, columns: number): string[] =>
  text
    .replaceAll('\r\n', '\n')
    .split('\n')
    .flatMap((line) => wrapLine(line, style, Math.max(8, columns)))

/** The text of blocks; what is no text is named. */
export function blocksText(blocks: readonly (SessionContentBlock | Exclude<ToolOutput, string>[number])[]): string {
  return blocks.map(blockText).join('\n')
}

function blockText(block: SessionContentBlock): string {
  if (block.type === 'text' || block.type === 'thinking') return block.text
  if (block.type === 'image') return `[image, ${visibleName(block.mediaType)}]`
  if (block.type === 'document') return `[${visibleName(block.name ?? 'document')}, ${visibleName(block.mediaType)}]`
  return `[${block.type}]`
}

const plain = (text: string): string => text
/** Longer lines are hard to read. */
const widest = 120
