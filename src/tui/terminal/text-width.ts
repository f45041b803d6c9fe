import { createRequire } from 'node:module'
import { isAmbiguousWide, own } from './marks.ts'

/** The columns a line takes on a terminal; sequences of colours, links and marks take none. */
export function textWidth(line: string): number {
  const text = line.includes('\x1b') ? line.replace(colour, '') : line
  if (isSimple(text)) return text.length
  let width = 0
  for (const { segment } of graphemes().segment(text)) width += graphemeWidth(segment)
  return width
}

/** A line cut to `columns`, with an ellipsis if something was cut. Colours are reset at the end. */
export function cutToWidth(line: string, columns: number): string {
  // A very long line need not be measured to its end: every column holds at most a few characters.
  const most = Math.max(columns, 1) * longestGrapheme
  if (line.length <= columns && !line.includes('\x1b') && isSimple(line)) return line
  if (line.length <= most && textWidth(line) <= columns) return line
  if (columns < 1) return ''
  // A cut by length could fall into a link.
  return `${headOf(line.includes('\x1b]') ? line : line.slice(0, most), columns - 1)}${own('…')}`
}

/** The beginning of a line, at most `columns` wide. */
function headOf(line: string, columns: number): string {
  let [head, left, isPainted, isLinked] = ['', columns, false, false]
  for (const piece of line.split(colours)) {
    if (piece.startsWith('\x1b')) {
      head += piece
      isPainted = true
      isLinked ||= piece.startsWith('\x1b]8;')
      continue
    }
    if (left <= 0) continue
    for (const grapheme of graphemesOf(piece)) {
      const width = graphemeWidth(grapheme)
      if (width > left) {
        left = 0
        break
      }
      left -= width
      head += grapheme
    }
  }
  if (isLinked) head += '\x1b]8;;\x1b\\'
  return isPainted ? `${head}\x1b[0m` : head
}

/** A line as several of at most `columns`. Breaks after a blank near the edge if there is one. Keeps every character. */
export function wrapToWidth(line: string, columns: number): string[] {
  const rows: string[] = []
  let row = ''
  let width = 0
  for (const grapheme of graphemesOf(line)) {
    const more = graphemeWidth(grapheme)
    if (width + more > columns) {
      const blank = row.lastIndexOf(' ') + 1
      const end = blank > row.length - columns / 3 ? blank : row.length
      rows.push(row.slice(0, end))
      row = row.slice(end)
      width = textWidth(row)
    }
    row += grapheme
    width += more
  }
  return [...rows, row]
}

/** Grapheme clusters: what a person sees as single characters. */
export function graphemesOf(text: string): Iterable<string> {
  return isSimple(text) ? text : Array.from(graphemes().segment(text), ({ segment }) => segment)
}

export function graphemeWidth(grapheme: string): number {
  const code = grapheme.codePointAt(0) ?? 0
  if (code < 0x20) return 0
  if (code < 0x7f && grapheme.length === 1) return 1 // a digit may be the beginning of an emoji
  if (isZeroWidth.test(grapheme)) return 0
  if (isEmoji.test(grapheme)) return 2
  return widthOfCode(code)
}

/** Generous, so that only text beyond the right edge is cut off. */
const longestGrapheme = 16

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: matches colour sequences
const colour = /\x1b\[[0-9;]*m|\x1b\](?:8|133);[^\x1b\x07]*\x1b\\/g
const colours = /(\x1b\[[0-9;]*m|\x1b\](?:8|133);[^\x1b\x07]*\x1b\\)/
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: see above
/** Every character is a grapheme of one column: true of most Western text and of the characters we draw with. */
const isSimple = (text: string): boolean =>
  !(
    isAmbiguousWide()
      ? /[^\t\n\r\x20-\x7e]/
      : /[^\t\n\r\x20-\x7e\xa1-\xac\xae-\u02ff\u2010-\u2026\u203a\u2500-\u257f\u2713\u2717]/
  ).test(text)
const isZeroWidth = /^[\p{Mn}\p{Me}\p{Cf}\p{Default_Ignorable_Code_Point}]+$/u
const isEmoji = /^(?:\p{Emoji_Presentation}|\p{Regional_Indicator}{2}|\p{Emoji}\uFE0F)/u

let segmenter: Intl.Segmenter | undefined
/** One segmenter for all: to make one takes a millisecond. */
export const graphemes = (): Intl.Segmenter =>
  (segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' }))

let known: ((code: number) => number) | undefined
const widthOfCode = (code: number): number => (known ??= loadWidths())(code)

/** `get-east-asian-width` is an optional package; without it every character counts as one column. */
function loadWidths(): (code: number) => number {
  try {
    const { eastAsianWidth } = createRequire(import.meta.url)('get-east-asian-width') as Widths
    return (code) => eastAsianWidth(code, { ambiguousAsWide: isAmbiguousWide() })
  } catch {
    return () => 1
  }
}

type Widths = typeof import('get-east-asian-width')
