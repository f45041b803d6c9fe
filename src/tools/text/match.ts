import { originalPositions, plainEndings } from './line-endings.ts'
import { occurrencesOf } from './occurrences.ts'
import { saysEnough } from './says-enough.ts'
import type { SearchedText } from './searched-text.ts'

/** A part of a text. */
export interface Place {
  readonly start: number
  readonly end: number
}

/** Which places count. */
export interface MatchOptions {
  /** Every place, none inside another; else all that could be meant, up to one more than `mostCounted`. */
  readonly all: boolean
  /** Only what begins a line, and if it says little, only what is the whole of its lines. */
  readonly asLines: boolean
}

/** More places than this are not counted. */
export const mostCounted = 1000

/**
 * Where a text stands in another, letter by letter. A `\n` in it means a line ending of whatever kind, so that places
 * which look the same to a reader count as the same.
 */
export function placesOf(searched: SearchedText, wanted: string, options: MatchOptions): Place[] {
  const { text } = searched
  const exact = wanted.includes('\r') && !options.asLines ? occurrences(text, wanted, options) : []
  if (exact.length > 0) return placesAt(exact, wanted.length)
  const plainWanted = plainEndings(wanted)
  const isPlain = !text.includes('\r') || !(plainWanted.includes('\n') || options.asLines)
  const plainText = isPlain ? text : searched.plain()
  const found = options.asLines
    ? lineOccurrences(plainText, plainWanted, options)
    : occurrences(plainText, plainWanted, options)
  const places = placesAt(found, plainWanted.length)
  return isPlain ? places : inOriginal(text, places)
}

function occurrences(text: string, wanted: string, { all }: MatchOptions): number[] {
  return occurrencesOf(text, wanted, { overlapping: !all, most: all ? Number.POSITIVE_INFINITY : mostCounted + 1 })
}

function lineOccurrences(text: string, wanted: string, { all }: MatchOptions): number[] {
  const top = text.startsWith('\uFEFF') ? 1 : 0
  const most = all ? Number.POSITIVE_INFINITY : mostCounted
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

const placesAt = (positions: readonly number[], length: number): Place[] =>
  positions.map((start) => ({ start, end: start + length }))

function inOriginal(text: string, places: readonly Place[]): Place[] {
  const starts = originalPositions(
    text,
    places.map(({ start }) => start),
  )
  const ends = originalPositions(
    text,
    places.map(({ end }) => end),
  )
  return starts.map((start, i) => ({ start, end: ends[i]! }))
}
