import { isDistinctive, type SearchedText } from './searched-text.ts'
import { type EditTexts, originalPositions } from './text-lines.ts'

/** Matched ranges of a text, in order. They are not objects, because there may be millions. */
export interface Matches {
  readonly starts: readonly number[]
  endOf(index: number): number
}

/** More matches than this are not counted. */
export const maxCountedMatches = 1000
/** More matches than this are not replaced at once. */
export const maxReplacedMatches = 10_000_000

/**
 * Finds the old text exactly. Its `\n` match line endings of any kind, so that places which look the same to a reader are found
 * alike. If it has a `\r`, its own line endings are tried first.
 */
export function findExact(searched: SearchedText, { old, oldLines }: OldTexts, { all }: MatchOptions): Matches {
  const { text } = searched
  const options = all ? replacedMatches : countedMatches
  const asWritten = old.includes('\r') ? occurrencesOf(text, old, options) : []
  if (asWritten.length > 0) return matchesAt(asWritten, old.length)
  const lfOld = oldLines.join('\n')
  if (oldLines.length === 1 || !text.includes('\r')) return matchesAt(occurrencesOf(text, lfOld, options), lfOld.length)
  const found = findWithAnyEndings(text, oldLines, options)
  return found ?? matchesInOriginal(text, occurrencesOf(searched.lfText(), lfOld, options), lfOld.length)
}

/**
 * The same, but only matches at the beginning of a line. If the old text has too few letters and digits to be recognised by
 * (`isDistinctive`), only whole lines match.
 */
export function findAtLineStarts(searched: SearchedText, { oldLines }: OldTexts, { all }: MatchOptions): Matches {
  const text = searched.lfText()
  const old = oldLines.join('\n')
  const top = text.startsWith('\uFEFF') ? 1 : 0
  const { max } = all ? replacedMatches : countedMatches
  const found = occurrencesOf(text, `\n${old}`, { overlapping: true, max }).map((at) => at + 1)
  if (text.startsWith(old, top)) found.unshift(top)
  const isWhole = (at: number): boolean => {
    const end = at + old.length
    return end === text.length || old.endsWith('\n') || text[end] === '\n'
  }
  const fitting = isDistinctive(old) ? found : found.filter(isWhole)
  const matches = all ? withoutOverlaps(fitting, old.length) : fitting.slice(0, max)
  return matchesInOriginal(searched.text, matches, old.length)
}

type OldTexts = Pick<EditTexts, 'old' | 'oldLines'>

interface MatchOptions {
  /** If true, finds up to `maxReplacedMatches` + 1 matches that do not overlap; else up to `maxCountedMatches` + 1, which may overlap. */
  readonly all: boolean
}

const countedMatches: OccurrenceOptions = { overlapping: true, max: maxCountedMatches + 1 }
const replacedMatches: OccurrenceOptions = { overlapping: false, max: maxReplacedMatches + 1 }

function withoutOverlaps(positions: readonly number[], length: number): number[] {
  const kept: number[] = []
  for (const at of positions) if (kept.length === 0 || at >= kept.at(-1)! + length) kept.push(at)
  return kept
}

const matchesAt = (starts: readonly number[], length: number): Matches => ({
  starts,
  endOf: (index) => starts[index]! + length,
})

function matchesInOriginal(text: string, positions: readonly number[], length: number): Matches {
  const starts = originalPositions(text, positions)
  const ends = originalPositions(
    text,
    positions.map((start) => start + length),
  )
  return { starts, endOf: (index) => ends[index]! }
}

/**
 * Finds the old text where the file may have any line endings, without a copy of the file: searches the longest old line, then
 * compares the lines around it. `undefined` if that would not be fast: all old lines are empty, or the longest is too frequent.
 */
export function findWithAnyEndings(
  text: string,
  oldLines: readonly string[],
  { overlapping, max }: OccurrenceOptions,
): Matches | undefined {
  const oldLength = oldLines.join('\n').length
  const pivot = oldLines.reduce((longest, line, i) => (line.length > oldLines[longest]!.length ? i : longest), 0)
  const beginning = oldLines[pivot]!.slice(0, fastSearchLength)
  if (beginning === '') return undefined
  const starts: number[] = []
  const ends: number[] = []
  let workLeft = 2 * text.length
  for (let at = text.indexOf(beginning); at >= 0 && starts.length < max; at = text.indexOf(beginning, at + 1)) {
    workLeft -= oldLength
    if (workLeft < 0) return undefined
    const end = endOfLines(text, at, oldLines, pivot)
    const start = end < 0 ? -1 : startOfLines(text, at, oldLines, pivot)
    if (start < 0 || (!overlapping && start < (ends.at(-1) ?? 0))) continue
    starts.push(start)
    ends.push(end)
  }
  return { starts, endOf: (index) => ends[index]! }
}

/** Where the old lines end if line `from` begins at `at` and the later ones follow, else -1. */
function endOfLines(text: string, at: number, oldLines: readonly string[], from: number): number {
  for (let i = from; i < oldLines.length; i++) {
    if (i > from) {
      const length = endingAfter(text, at)
      if (length === 0) return -1
      at += length
    }
    if (!text.startsWith(oldLines[i]!, at)) return -1
    at += oldLines[i]!.length
  }
  return at
}

/** Where the old lines begin if line `to` begins at `at` and the earlier ones stand before it, else -1. */
function startOfLines(text: string, at: number, oldLines: readonly string[], to: number): number {
  for (let i = to - 1; i >= 0; i--) {
    const length = endingBefore(text, at)
    at -= length + oldLines[i]!.length
    if (length === 0 || at < 0 || !text.startsWith(oldLines[i]!, at)) return -1
  }
  return at
}

const [newline, carriage] = [10, 13]

function endingAfter(text: string, at: number): number {
  const code = text.charCodeAt(at)
  if (code === carriage) return text.charCodeAt(at + 1) === newline ? 2 : 1
  return code === newline ? 1 : 0
}

function endingBefore(text: string, at: number): number {
  const code = text.charCodeAt(at - 1)
  if (code === newline) return text.charCodeAt(at - 2) === carriage ? 2 : 1
  return code === carriage ? 1 : 0
}

/** Which occurrences count. */
interface OccurrenceOptions {
  /** Whether one may begin inside another. */
  readonly overlapping: boolean
  /** Stop after this many. */
  readonly max: number
}

/** If a search may need more comparisons than this, a linear algorithm is used. */
const maxComparisons = 1e9
/** Up to this length `indexOf` is fast for every text. */
const fastSearchLength = 250

/** The positions of a text in another, in bounded time. */
export function occurrencesOf(text: string, wanted: string, options: OccurrenceOptions): number[] {
  if (wanted.length > fastSearchLength && wanted.length * text.length > maxComparisons)
    return byBeginnings(text, wanted, options) ?? sequencesIn(codesOf(text), codesOf(wanted), options)
  const found: number[] = []
  const step = options.overlapping ? 1 : wanted.length
  for (let at = text.indexOf(wanted); at >= 0 && found.length < options.max; at = text.indexOf(wanted, at + step))
    found.push(at)
  return found
}

/** Compares only places with the same beginning; `undefined` if there are too many of them. */
function byBeginnings(text: string, wanted: string, { overlapping, max }: OccurrenceOptions): number[] | undefined {
  const found: number[] = []
  const beginning = wanted.slice(0, fastSearchLength)
  let workLeft = 2 * text.length
  for (let at = text.indexOf(beginning); at >= 0 && found.length < max; ) {
    workLeft -= wanted.length
    if (workLeft < 0) return undefined
    const isThere = text.startsWith(wanted, at)
    if (isThere) found.push(at)
    at = text.indexOf(beginning, at + (isThere && !overlapping ? wanted.length : 1))
  }
  return found
}

/** The positions of a sequence of numbers in another, by the algorithm of Knuth, Morris and Pratt. */
export function sequencesIn(
  sequence: ArrayLike<number>,
  wanted: ArrayLike<number>,
  { overlapping, max }: OccurrenceOptions,
): number[] {
  const found: number[] = []
  const borders = bordersOf(wanted)
  for (let i = 0, matched = 0; i < sequence.length && found.length < max; i++) {
    while (matched > 0 && sequence[i] !== wanted[matched]) matched = borders[matched - 1]!
    if (sequence[i] === wanted[matched]) matched++
    if (matched < wanted.length) continue
    found.push(i - wanted.length + 1)
    matched = overlapping ? borders[matched - 1]! : 0
  }
  return found
}

/** For each prefix, the length of the longest shorter prefix that it ends with. */
function bordersOf(wanted: ArrayLike<number>): Uint32Array {
  const borders = new Uint32Array(wanted.length)
  for (let i = 1, matched = 0; i < wanted.length; i++) {
    while (matched > 0 && wanted[i] !== wanted[matched]) matched = borders[matched - 1]!
    if (wanted[i] === wanted[matched]) matched++
    borders[i] = matched
  }
  return borders
}

function codesOf(text: string): Uint16Array {
  const codes = new Uint16Array(text.length)
  Buffer.from(codes.buffer).write(text, 'utf16le')
  return codes
}
