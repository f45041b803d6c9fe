import { plainEndings } from './line-endings.ts'
import { essenceOf } from './look-alikes.ts'
import { type TextLines, textLines } from './text-lines.ts'

/** A text in which others are looked for. What that takes is made when it is first needed, and once. */
export interface SearchedText {
  readonly text: string
  /** With every line ending as `\n`. */
  plain(): string
  lines(): TextLines
  /** Of each line what remains when indentation, trailing whitespace and look-alikes do not count. */
  essences(): readonly string[]
}

/** Nothing is made of the text yet. */
export function searchedText(text: string): SearchedText {
  const lines = once(() => textLines(text))
  return {
    text,
    plain: once(() => plainEndings(text)),
    lines,
    essences: once(() => lines().texts.map(essenceOf)),
  }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
