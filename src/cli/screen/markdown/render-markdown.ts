import { createRequire } from 'node:module'
import type { Token, Tokens, TokensList } from 'marked'
import { visibleText } from '../../../platform/visible-text.ts'
import type { Paint } from '../paint.ts'
import { type BlockContext, code, heading, list, narrowest, paragraph, quote } from './blocks.ts'
import { table } from './table.ts'

/** Turns blocks of markdown into lines for a terminal, and gives up before it takes long. */
interface MarkdownRenderer {
  render(text: string, width: number): string[]
}

/** One for each answer: what it defines (`[1]: https://…`) counts for what comes after it. */
export function createMarkdownRenderer(paint: Paint, lexer: Lexing | 'none' = loadLexer()): MarkdownRenderer {
  const links: TokensList['links'] = {}
  let spentMs = 0
  return {
    render(text, width) {
      if (lexer === 'none' || spentMs > mostMs || isHard(text)) return plainLines(text)
      const began = performance.now()
      try {
        const tokens = lexer(text, links)
        return isTooMuch(tokens) ? plainLines(text) : createBlockContext(paint, Math.max(width, narrowest)).all(tokens)
      } catch {
        return plainLines(text) // nested deeper than a stack is high
      } finally {
        spentMs += performance.now() - began
      }
    },
  }
}

/** Text as it is, harmless, and broken by the terminal alone. */
function plainLines(text: string): string[] {
  const lines = visibleText(text).replaceAll('\r', '').split('\n')
  while (lines.length > 1 && lines.at(-1) === '') lines.pop()
  return lines
}

/** Tokens of a text; `links` are known already, and those it defines are added. */
type Lexing = (text: string, links: TokensList['links']) => readonly Token[]

/** For all of an answer. */
const mostMs = 3000
const mostTokens = 20_000
/** Emphasis takes a parser time that grows with the square of the number of its marks. */
const mostMarks = 1500

const isHard = (text: string): boolean => !/^ {0,3}(?:```|~~~)/.test(text) && marksIn(text) > mostMarks

function marksIn(text: string): number {
  let marks = 0
  for (const _ of text.matchAll(/[*_]+/g)) marks++
  return marks
}

function isTooMuch(tokens: readonly Token[]): boolean {
  const open: Token[] = [...tokens]
  for (let seen = 0; open.length > 0; seen++) {
    if (seen > mostTokens) return true
    const token = open.pop() as Token & { tokens?: Token[]; items?: Token[]; rows?: Tokens.TableCell[][] }
    const { tokens: within = [], items = [], rows = [] } = token
    seen += rows.length * (rows[0]?.length ?? 0) // an empty cell has no token, and takes a line
    if (seen > mostTokens) return true
    for (const inner of [within, items, ...rows.map((row) => row.flatMap((cell) => cell.tokens))])
      for (const one of inner) open.push(one)
  }
  return false
}

function createBlockContext(paint: Paint, width: number): { all(tokens: readonly Token[]): string[] } {
  const blocks: BlockContext['blocks'] = (tokens, wide, spacing = 'loose') =>
    tokens
      .filter(({ type }) => type !== 'space')
      .flatMap((token, i) => {
        const lines = paintBlock(token, { paint, width: wide, blocks })
        return i > 0 && spacing === 'loose' ? ['', ...lines] : lines
      })
  return { all: (tokens) => blocks(tokens, width) }
}

function paintBlock(token: Token, context: BlockContext): string[] {
  switch (token.type) {
    case 'heading':
      return heading(token as Tokens.Heading, context)
    case 'code':
      return code(token as Tokens.Code, context)
    case 'list':
      return list(token as Tokens.List, context)
    case 'blockquote':
      return quote(token as Tokens.Blockquote, context)
    case 'table':
      return table(token as Tokens.Table, context)
    case 'hr':
      return [context.paint.dim('─'.repeat(Math.min(context.width, 40)))]
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

/** An optional package; without it text is shown as it was written. */
function loadLexer(): Lexing | 'none' {
  try {
    const { Lexer } = createRequire(import.meta.url)('marked') as typeof import('marked')
    return (text, links) => {
      const lexer = new Lexer()
      lexer.tokens.links = links
      return lexer.lex(text)
    }
  } catch {
    return 'none'
  }
}
