import { once } from '../../core/waiting.ts'
import { normalizedLine } from './look-alikes.ts'
import { linesWithOffsets, type TextLines, withLfEndings } from './text-lines.ts'

/** The text of the file, with derived forms that are computed once, when first needed. */
export interface SearchedText {
  readonly text: string
  /** The text with every line ending as `\n`. */
  lfText(): string
  lines(): TextLines
  /** `normalizedLine` of each line. */
  normalizedLines(): readonly string[]
}

export function searchedText(text: string): SearchedText {
  const lines = once(() => linesWithOffsets(text))
  return {
    text,
    lfText: once(() => withLfEndings(text)),
    lines,
    normalizedLines: once(() => lines().lines.map(normalizedLine)),
  }
}

const minWordCharacters = 4

/** Whether a text has enough letters and digits to be recognised by. A brace or `end` has not. */
export function isDistinctive(text: string): boolean {
  const word = /[\p{L}\p{N}_]/gu
  for (let i = 0; i < minWordCharacters; i++) if (!word.test(text)) return false
  return true
}
