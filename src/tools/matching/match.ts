import { originalPositions, plainEndings } from './line-endings.ts'
import { type OccurrenceOptions, occurrencesOf } from './occurrences.ts'
import { placesByLines } from './places-by-lines.ts'
import { saysEnough } from './says-enough.ts'
import type { SearchedText } from './searched-text.ts'

/** Parts of a text, in their order. There may be millions, so they are no objects. */
export interface Places {
  readonly starts: readonly number[]
  endOf(index: number): number
}

/** Which places count. */
export interface MatchOptions {
  /** Every place, none inside another, up to one more than `mostReplaced`; else all that could be meant, up to one more than `mostCounted`. */
  readonly all: boolean
  /** Only what begins a line, and if it says little, only what is the whole of its lines. */
  readonly asLines: boolean
}

/** More places than this are not counted. */
export const mostCounted = 1000
/** More places than this are not replaced at once. */
export const mostReplaced = 10_000_000

/**
 * Where a text stands in another, letter by letter. A `\n` in it means a line ending of whatever kind, so that places
 * which look the same to a reader count as the same.
 */
export function placesOf(searched: SearchedText, wanted: string, options: MatchOptions): Places {
  const { text } = searched
  const exact = wanted.includes('\r') && !options.asLines ? occurrences(text, wanted, options) : []
  if (exact.length > 0) return placesAt(exact, wanted.length)
  const plainWanted = plainEndings(wanted)
  const isPlain = !text.includes('\r') || !(plainWanted.includes('\n') || options.asLines)
  const byLines = isPlain || options.asLines ? undefined : placesByLines(text, plainWanted, limits(options))
  if (byLines) return byLines
  const plainText = isPlain ? text : searched.plain()
  const found = options.asLines
    ? lineOccurrences(plainText, plainWanted, options)
    : occurrences(plainText, plainWanted, options)
  return isPlain ? placesAt(found, plainWanted.length) : inOriginal(text, found, plainWanted.length)
}

function occurrences(text: string, wanted: string, options: MatchOptions): number[] {
  return occurrencesOf(text, wanted, limits(options))
}

const limits = ({ all }: MatchOptions): OccurrenceOptions => ({
  overlapping: !all,
  most: (all ? mostReplaced : mostCounted) + 1,
})

function lineOccurrences(text: string, wanted: string, { all }: MatchOptions): number[] {
  const top = text.startsWith('\uFEFF') ? 1 : 0
  const most = all ? mostReplaced + 1 : mostCounted
  const found = occurrencesOf(text, `\n${wanted}`, { overlapping: true, most }).map((at) => at + 1)
  if (text.startsWith(wanted, top)) found.unshift(top)
  const isWhole = (at: number): boolean => {
    const end = at + wanted.length
    return end === text.length || wanted.endsWith('\n') || text[end] === '\n'
  }
  const fitting = saysEnough(wanted) ? found : found.filter(isWhole)
  return all ? apart(fitting, wanted.length) : fitting
}

function apart(positions: readonly number[], length: number): number[] {
  const kept: number[] = []
  for (const at of positions) if (kept.length === 0 || at >= kept.at(-1)! + length) kept.push(at)
  return kept
}

const placesAt = (starts: readonly number[], length: number): Places => ({
  starts,
  endOf: (index) => starts[index]! + length,
})

function inOriginal(text: string, positions: readonly number[], length: number): Places {
  const starts = originalPositions(text, positions)
  const ends = originalPositions(
    text,
    positions.map((start) => start + length),
  )
  return { starts, endOf: (index) => ends[index]! }
}
