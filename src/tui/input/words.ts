import { isMark } from './attachments.ts'
import { nextGrapheme, previousGrapheme } from './graphemes.ts'

/** The end of the word at or after `at`. An attachment is a word. */
export function wordEnd(line: string, at: number): number {
  const isAhead = (kind: Kind) => (place: number) =>
    place < line.length && kind(line.slice(place, nextGrapheme(line, place)))
  const forward = (place: number): number => nextGrapheme(line, place)
  const word = walk(at, forward, isAhead(isBetween))
  return isAhead(isMark)(word) ? forward(word) : walk(word, forward, isAhead(isWord))
}

/** The start of the word before `at`. */
export function wordStart(line: string, at: number): number {
  return startOf(line, at, isBetween, isWord)
}

/** The start of what stands before `at` between blanks. */
export function blankSeparatedStart(line: string, at: number): number {
  return startOf(line, at, isBlank, isVisible)
}

type Kind = (grapheme: string) => boolean

const isBlank: Kind = (grapheme) => /^\s/.test(grapheme)
const isVisible: Kind = (grapheme) => !isBlank(grapheme) && !isMark(grapheme)
const isWord: Kind = (grapheme) => /^[\p{L}\p{N}\p{M}_]/u.test(grapheme)
const isBetween: Kind = (grapheme) => !isWord(grapheme) && !isMark(grapheme)

function startOf(line: string, at: number, isGap: Kind, isPart: Kind): number {
  const isBehind = (kind: Kind) => (place: number) =>
    place > 0 && kind(line.slice(previousGrapheme(line, place), place))
  const backward = (place: number): number => previousGrapheme(line, place)
  const end = walk(at, backward, isBehind(isGap))
  return isBehind(isMark)(end) ? backward(end) : walk(end, backward, isBehind(isPart))
}

function walk(from: number, step: (at: number) => number, isOn: (at: number) => boolean): number {
  let at = from
  while (isOn(at)) at = step(at)
  return at
}
