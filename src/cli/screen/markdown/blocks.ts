import type { Token, Tokens } from 'marked'
import { visibleText } from '../../../platform/visible-text.ts'
import { diffLine } from '../diff-lines.ts'
import type { Paint } from '../paint.ts'
import { inlineSpans } from './inline.ts'
import { wrapSpans } from './spans.ts'

/** Code, indented and never broken: it is there to be copied. */
export const code = ({ text, lang }: Tokens.Code, { paint }: BlockContext): string[] => codeLines(text, lang, paint)

/** The same for some lines of it. */
export function codeLines(text: string, lang: string | undefined, paint: Paint): string[] {
  const style = lang === 'diff' || lang === 'patch' ? (line: string) => diffLine(line, paint) : paint.cyan
  const shown = visibleText(text).replaceAll('\r', '').replaceAll('\t', '    ')
  return shown.split('\n').map((line) => (line === '' ? '' : `  ${style(line)}`))
}

/** What a painter of one kind of block has to work with. */
export interface BlockContext {
  readonly width: number
  readonly paint: Paint
  /** Blocks inside of this one, as lines of at most so many columns. */
  blocks(tokens: readonly Token[], width: number, spacing?: 'tight' | 'loose'): string[]
}

/** Narrower than this nothing is wrapped: words in pieces of two letters help nobody. */
export const narrowest = 8

/** The first two levels stand out from the others. */
export function heading({ depth, tokens }: Tokens.Heading, { paint, width }: BlockContext): string[] {
  const style = depth <= 2 ? (text: string) => paint.bold(paint.underline(text)) : paint.bold
  return wrapSpans(inlineSpans(tokens, paint, style), width)
}

/** Running text, also that of a list item. */
export function paragraph(tokens: readonly Token[] | undefined, { paint, width }: BlockContext): string[] {
  return wrapSpans(inlineSpans(tokens, paint), width)
}

/** What somebody else said, with a bar beside it; another one than our own questions have. */
export function quote({ tokens }: Tokens.Blockquote, { blocks, paint, width }: BlockContext): string[] {
  const bar = paint.dim('▌')
  return blocks(tokens, Math.max(narrowest, width - 2)).map((line) => (line === '' ? bar : `${bar} ${line}`))
}

/** Items with their bullets or numbers, tasks with their boxes, and whatever stands in them. */
export function list({ ordered, start, items, loose }: Tokens.List, context: BlockContext): string[] {
  const first = typeof start === 'number' ? start : 1
  const wide = ordered ? `${first + items.length - 1}. `.length : 2
  return items.flatMap((item, i) => {
    const mark = ordered ? `${first + i}. `.padStart(wide) : bulletOf(item)
    const tokens = item.tokens.filter(({ type }) => type !== 'checkbox')
    const lines = context.blocks(tokens, Math.max(narrowest, context.width - wide), loose ? 'loose' : 'tight')
    const marked = (lines.length > 0 ? lines : ['']).map((line, at) => indented(line, at, mark, wide))
    return loose && i > 0 ? ['', ...marked] : marked
  })
}

function bulletOf({ task, checked }: Tokens.ListItem): string {
  if (!task) return '• '
  return checked ? '☑ ' : '☐ '
}

function indented(line: string, at: number, mark: string, wide: number): string {
  if (at === 0) return mark + line
  return line === '' ? '' : ' '.repeat(wide) + line
}
