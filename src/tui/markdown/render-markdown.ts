import { createRequire } from 'node:module'
import type { Token, Tokens, TokensList } from 'marked'
import type { Paint } from '../terminal/paint.ts'
import { plainLines, renderBlocks } from './blocks.ts'

/**
 * Renders the markdown of one answer as lines for a terminal. Link definitions (`[1]: https://…`) apply to the blocks
 * after them. Text that takes too long to parse is returned as it was written.
 */
export function createMarkdownRenderer(paint: Paint, options: MarkdownOptions = {}): MarkdownRenderer {
  const { lexer = loadLexer(), folder } = options
  const links: TokensList['links'] = {}
  let spentMs = 0
  return (text, width) => {
    if (lexer === 'none' || spentMs > mostMs || hasTooManyMarks(text)) return plainLines(text)
    const began = performance.now()
    try {
      const tokens = lexer(text, links)
      return hasTooManyTokens(tokens) ? plainLines(text) : renderBlocks(tokens, { paint, width, folder })
    } catch {
      return plainLines(text) // a stack overflow: nested too deeply
    } finally {
      spentMs += performance.now() - began
    }
  }
}

export interface MarkdownOptions {
  /** Paths inside it become links. */
  readonly folder?: string | undefined
  /** Default: that of `marked`, if it is installed. */
  readonly lexer?: Lexer | 'none'
}

export type MarkdownRenderer = (text: string, width: number) => string[]

/** Splits a text into tokens. Knows `links`, and adds those that the text defines. */
type Lexer = (text: string, links: TokensList['links']) => readonly Token[]

/** The time limit for a whole answer. */
const mostMs = 3000
const mostTokens = 20_000
/** The time to parse emphasis grows with the square of the number of marks. */
const mostMarks = 1500

const hasTooManyMarks = (text: string): boolean =>
  !/^ {0,3}(?:```|~~~)/.test(text) && (text.match(/[*_]+/g)?.length ?? 0) > mostMarks

function hasTooManyTokens(tokens: readonly Token[]): boolean {
  const open: Token[] = [...tokens]
  for (let seen = 0; open.length > 0; seen++) {
    if (seen > mostTokens) return true
    const token = open.pop() as Token & { tokens?: Token[]; items?: Token[]; rows?: Tokens.TableCell[][] }
    const { tokens: within = [], items = [], rows = [] } = token
    seen += rows.length * (rows[0]?.length ?? 0) // an empty cell has no token but takes a line
    if (seen > mostTokens) return true
    for (const inner of [within, items, ...rows.map((row) => row.flatMap((cell) => cell.tokens))])
      for (const one of inner) open.push(one)
  }
  return false
}

/** `marked` is an optional package; without it text is shown as it was written. */
function loadLexer(): Lexer | 'none' {
  try {
    const marked = createRequire(import.meta.url)('marked') as typeof import('marked')
    return (text, links) => {
      const lexer = new marked.Lexer()
      lexer.tokens.links = links
      return lexer.lex(text)
    }
  } catch {
    return 'none'
  }
}
