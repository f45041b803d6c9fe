import { visibleText } from '../../platform/visible-text.ts'
import { graphemesOf, graphemeWidth, textWidth } from '../terminal/text-width.ts'

/** A text in one style. */
export interface Span {
  readonly text: string
  readonly style: Style
}

export type Style = (text: string) => string

/** Foreign text as a span, without control characters. The only way to create one from foreign text. */
export function span(text: string, style: Style): Span {
  return { text: visibleText(text).replaceAll('\r', '').replaceAll('\t', ' '), style }
}

/** Wraps one line of foreign text. Keeps its indentation. */
export function wrapLine(text: string, style: Style, width: number): string[] {
  const whole = span(text, style)
  if (textWidth(whole.text) <= width) return [style(whole.text)]
  const [indent = ''] = /^ */.exec(whole.text) ?? []
  const kept = indent.length <= width / 2 ? indent : ''
  return wrapSpans([whole], width - kept.length).map((line) => kept + line)
}

/** Starts a new line. */
export const lineBreak: Span = { text: '\n', style: (text) => text }

/** Spans as painted lines, wrapped between words, or within a word that is wider than a line. */
export function wrapSpans(spans: readonly Span[], width: number): string[] {
  const lines: Span[][] = [[]]
  let used = 0
  let gap: Span | undefined
  const newLine = (): void => {
    lines.push([])
    used = 0
    gap = undefined
  }
  const put = (text: string, style: Style): void => {
    lines.at(-1)!.push({ text, style })
    used += textWidth(text)
  }
  for (const word of wordsOf(spans)) {
    if (word === lineBreak) {
      newLine()
      continue
    }
    if (isWord(word)) {
      const wide = word.reduce((sum, { text }) => sum + textWidth(text), 0)
      if (used > 0 && used + (gap ? 1 : 0) + wide > width) newLine()
      if (gap && used > 0) put(' ', gap.style)
      gap = undefined
      for (const { text, style } of word)
        for (const part of used + textWidth(text) <= width ? [text] : partsOf(text, width, used)) {
          if (used > 0 && used + textWidth(part) > width) newLine()
          put(part, style)
        }
    } else gap = word
  }
  return lines.map(painted)
}

const isWord = (one: readonly Span[] | Span): one is readonly Span[] => Array.isArray(one)

/** Words (each of one or several spans without a blank between them), blanks, and line breaks. */
function* wordsOf(spans: readonly Span[]): Generator<readonly Span[] | Span> {
  let word: Span[] = []
  for (const one of spans) {
    if (one === lineBreak) {
      if (word.length > 0) yield word
      word = []
      yield lineBreak
      continue
    }
    for (const piece of one.text.split(/([ \n]+)/)) {
      if (piece === '') continue
      if (piece[0] !== ' ' && piece[0] !== '\n') {
        word.push({ text: piece, style: one.style })
        continue
      }
      if (word.length > 0) yield word
      word = []
      yield { text: ' ', style: one.style }
    }
  }
  if (word.length > 0) yield word
}

/** Splits a word that is wider than a line. The first part fits the rest of the current line. */
function partsOf(text: string, width: number, used: number): string[] {
  const parts: string[] = []
  let [part, left] = ['', width - used]
  for (const grapheme of graphemesOf(text)) {
    const wide = graphemeWidth(grapheme)
    if (wide > left && (part !== '' || left < width)) {
      if (part !== '') parts.push(part)
      part = ''
      left = width
    }
    part += grapheme
    left -= wide
  }
  return [...parts, part]
}

function painted(line: readonly Span[]): string {
  let [shown, text, style] = ['', '', lineBreak.style]
  for (const one of line) {
    if (one.style !== style) {
      shown += style(text)
      text = ''
      style = one.style
    }
    text += one.text
  }
  return shown + style(text)
}
