import type { Token, Tokens } from 'marked'
import { visibleText } from '../../platform/visible-text.ts'
import { diffLine } from '../rows/diff-lines.ts'
import { own } from '../terminal/marks.ts'
import type { Paint } from '../terminal/paint.ts'
import { textWidth } from '../terminal/text-width.ts'
import { type CodePainter, createCodePainter } from './code-painter.ts'
import { type InlineContext, inlineSpans } from './inline.ts'
import { type Span, wrapSpans } from './spans.ts'

export interface BlockContext extends InlineContext {
  readonly width: number
}

/** Blocks as lines of at most `width` columns; loose ones with a blank line between them. */
export function renderBlocks(
  tokens: readonly Token[],
  given: BlockContext,
  spacing: 'tight' | 'loose' = 'loose',
): string[] {
  const context = { ...given, width: Math.max(narrowest, given.width) }
  return tokens
    .filter(({ type }) => type !== 'space')
    .flatMap((token, i) => {
      const lines = renderBlock(token, context)
      return i > 0 && spacing === 'loose' ? ['', ...lines] : lines
    })
}

/** Text is never wrapped to fewer columns than this. */
const narrowest = 8

function renderBlock(token: Token, context: BlockContext): string[] {
  switch (token.type) {
    case 'heading':
      return heading(token as Tokens.Heading, context)
    case 'code':
      return codeLines((token as Tokens.Code).text, (token as Tokens.Code).lang, context.paint)
    case 'list':
      return list(token as Tokens.List, context)
    case 'blockquote':
      return quote(token as Tokens.Blockquote, context)
    case 'table':
      return table(token as Tokens.Table, context)
    case 'hr':
      return [context.paint.dim(own('─').repeat(Math.min(context.width, 40)))]
    case 'paragraph':
      return paragraph(token.tokens, context)
    case 'text':
      return paragraph((token as Tokens.Text).tokens ?? [token], context)
    case 'def':
      return plainLines(token.raw).map(context.paint.dim)
    default:
      return plainLines(token.raw)
  }
}

/** The first two levels stand out from the others. */
function heading({ depth, tokens }: Tokens.Heading, context: BlockContext): string[] {
  const { paint, width } = context
  const style = depth <= 2 ? (text: string) => paint.bold(paint.underline(text)) : paint.bold
  return wrapSpans(inlineSpans(tokens, context, style), width)
}

/**
 * Lines of code, neither indented nor broken, so that copying gives the text. The painter of a block that comes in pieces
 * is kept by the caller.
 */
export function codeLines(
  text: string,
  lang: string | undefined,
  paint: Paint,
  painter: CodePainter = codePainter(lang, paint),
): string[] {
  const shown = visibleText(text).replaceAll('\r', '').replaceAll('\t', '    ')
  return shown.split('\n').map((line) => (line === '' ? '' : painter(line)))
}

/** Colours for the code of a fence. */
export function codePainter(lang: string | undefined, paint: Paint): CodePainter {
  if (lang === 'diff' || lang === 'patch') return (line) => diffLine(line, paint)
  return createCodePainter(lang, paint) ?? paint.cyan
}

function list({ ordered, start, items, loose }: Tokens.List, context: BlockContext): string[] {
  const first = typeof start === 'number' ? start : 1
  const markWidth = ordered ? `${first + items.length - 1}. `.length : 2
  return items.flatMap((item, i) => {
    const mark = ordered ? `${first + i}. `.padStart(markWidth) : bulletOf(item)
    const tokens = item.tokens.filter(({ type }) => type !== 'checkbox')
    const [head = '', ...more] = renderBlocks(
      tokens,
      { ...context, width: context.width - markWidth },
      loose ? 'loose' : 'tight',
    )
    const lines = [mark + head, ...more.map((line) => (line === '' ? '' : ' '.repeat(markWidth) + line))]
    return loose && i > 0 ? ['', ...lines] : lines
  })
}

function bulletOf({ task, checked }: Tokens.ListItem): string {
  if (!task) return own('• ')
  return checked ? '☑ ' : '☐ '
}

/** With a bar at the left, different from that of our own questions. */
function quote({ tokens }: Tokens.Blockquote, context: BlockContext): string[] {
  const bar = context.paint.dim(own('▌'))
  return renderBlocks(tokens, { ...context, width: context.width - 2 }).map((line) =>
    line === '' ? bar : `${bar} ${line}`,
  )
}

function paragraph(tokens: readonly Token[] | undefined, context: BlockContext): string[] {
  return wrapSpans(inlineSpans(tokens, context), context.width)
}

/** The text as it was written, without control characters; the terminal wraps it. */
export function plainLines(text: string): string[] {
  const lines = visibleText(text).replaceAll('\r', '').split('\n')
  while (lines.length > 1 && lines.at(-1) === '') lines.pop()
  return lines
}

/** A table fitted to the width, or a list of its rows if the columns would be too narrow to read. */
function table({ header, rows, align }: Tokens.Table, context: BlockContext): string[] {
  const { paint, width } = context
  const head = header.map(({ tokens }) => inlineSpans(tokens, context, paint.bold))
  const body = rows.map((row) => row.map(({ tokens }) => inlineSpans(tokens, context)))
  const wanted = head.map((cell, i) => Math.max(1, cellWidth(cell), ...body.map((row) => cellWidth(row[i] ?? []))))
  const room = width - gap.length * (wanted.length - 1)
  const widths = fitWidths(wanted, room)
  if (!widths) return asList(head, body, context)
  const line = (cells: readonly (readonly Span[])[]): string[] => rowLines(cells, widths, align)
  const rule = paint.dim(own(widths.map((wide) => '─'.repeat(wide)).join('──')))
  return [...line(head), rule, ...body.flatMap(line)]
}

const gap = '  '
/** No column is narrowed below this. */
const narrowestColumn = 6

const cellWidth = (cell: readonly Span[]): number => cell.reduce((sum, { text }) => sum + textWidth(text), 0)

/** Narrows the widest columns until all fit; `undefined` if they cannot. */
function fitWidths(wanted: readonly number[], room: number): number[] | undefined {
  const least = wanted.reduce((sum, wide) => sum + Math.min(wide, narrowestColumn), 0)
  if (least > room) return undefined
  const sum = (limit: number): number => wanted.reduce((all, wide) => all + Math.min(wide, limit), 0)
  let [low, high] = [narrowestColumn, Math.max(narrowestColumn, ...wanted)]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (sum(middle) <= room) low = middle
    else high = middle - 1
  }
  return wanted.map((wide) => Math.min(wide, low))
}

function rowLines(
  cells: readonly (readonly Span[])[],
  widths: readonly number[],
  align: Tokens.Table['align'],
): string[] {
  const wrapped = widths.map((wide, i) => wrapSpans(cells[i] ?? [], wide))
  const height = Math.max(...wrapped.map((lines) => lines.length))
  return Array.from({ length: height }, (_, row) =>
    widths
      .map((wide, i) => aligned(wrapped[i]?.[row] ?? '', wide, align[i]))
      .join(gap)
      .trimEnd(),
  )
}

function aligned(text: string, wide: number, align: 'left' | 'right' | 'center' | null | undefined): string {
  const free = Math.max(0, wide - textWidth(text))
  const left = align === 'right' ? free : align === 'center' ? Math.floor(free / 2) : 0
  return ' '.repeat(left) + text + ' '.repeat(free - left)
}

function asList(head: readonly Span[][], body: readonly Span[][][], { width }: BlockContext): string[] {
  const colon: Span = { text: ': ', style: (text) => text }
  return body.flatMap((row, at) => [
    ...(at > 0 ? [''] : []),
    ...row.flatMap((cell, i) => wrapSpans([...(head[i] ?? []), colon, ...cell], width)),
  ])
}
