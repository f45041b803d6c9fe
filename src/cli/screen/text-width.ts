import { createRequire } from 'node:module'

/** The columns a line takes on a terminal; colour sequences take none. */
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
  return `${headOf(line.slice(0, most), columns - 1)}…`
}

/** The beginning of a line, at most `columns` wide. */
function headOf(line: string, columns: number): string {
  let [head, left, isPainted] = ['', columns, false]
  for (const piece of line.split(colours)) {
    if (piece.startsWith('\x1b[')) {
      head += piece
      isPainted = true
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
  return isPainted ? `${head}\x1b[0m` : head
}

/** Grapheme clusters: what a person sees as single characters. */
export function graphemesOf(text: string): Iterable<string> {
  return isSimple(text) ? text : Array.from(graphemes().segment(text), ({ segment }) => segment)
}

export function graphemeWidth(grapheme: string): number {
  const code = grapheme.codePointAt(0) ?? 0
  if (code < 0x7f) return code < 0x20 ? 0 : 1
  if (isZeroWidth.test(grapheme)) return 0
  if (isEmoji.test(grapheme)) return 2
  return widthOfCode(code)
}

/** Generous, so that only text beyond the right edge is cut off. */
const longestGrapheme = 16

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: matches colour sequences
const colour = /\x1b\[[0-9;]*m/g
const colours = /(\x1b\[[0-9;]*m)/
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: see above
/** Every character is a grapheme of one column: true of most Western text and of the characters we draw with. */
const isSimple = (text: string): boolean =>
  !/[^\t\n\r\x20-\x7e\xa1-\xac\xae-\u02ff\u2010-\u2026\u203a\u2500-\u257f\u2713\u2717]/.test(text)
const isZeroWidth = /^[\p{Mn}\p{Me}\p{Cf}\p{Default_Ignorable_Code_Point}]+$/u
const isEmoji = /^(?:\p{Emoji_Presentation}|\p{Regional_Indicator}{2}|\p{Emoji}\uFE0F)/u

let segmenter: Intl.Segmenter | undefined
const graphemes = (): Intl.Segmenter => (segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' }))

let known: ((code: number) => number) | undefined
const widthOfCode = (code: number): number => (known ??= loadWidths())(code)

/** `get-east-asian-width` is an optional package; without it every character counts as one column. */
function loadWidths(): (code: number) => number {
  try {
    const { eastAsianWidth } = createRequire(import.meta.url)('get-east-asian-width') as Widths
    return (code) => eastAsianWidth(code)
  } catch {
    return () => 1
  }
}

type Widths = typeof import('get-east-asian-width')
