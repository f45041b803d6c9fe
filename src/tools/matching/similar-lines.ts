import { indentOf } from './indentation.ts'
import { normalizedLine } from './look-alikes.ts'
import { isDistinctive, type SearchedText } from './searched-text.ts'

/** Limits on the compared lines: the result is only a hint. */
const maxComparedLines = 200
const maxLineLength = 2000
/** How similar (`similarityTo`) a line must be to be a candidate. */
const minHintSimilarity = 0.45
const maxCandidates = 20
const maxScoredLines = 12

/**
 * The index at which the old lines would begin in the most similar part of the file. It is below 0 if that part is the beginning of
 * the file and the first old lines are missing there. `undefined` if nothing is similar. Takes one or two passes over the file.
 */
export function nearestStart(searched: SearchedText, oldLines: readonly string[]): number | undefined {
  const compared = oldLines.slice(0, maxComparedLines)
  return byEqualLines(searched, compared) ?? bySimilarLine(searched.lines().lines, compared)
}

/** Each line of the file that equals an old line votes for where the old lines begin; longer lines count more. */
function byEqualLines(searched: SearchedText, oldLines: readonly string[]): number | undefined {
  const indexes = new Map<string, number[]>()
  for (const [i, line] of oldLines.entries()) {
    const key = normalizedLine(line)
    if (line.length > maxLineLength || !isDistinctive(key)) continue
    const earlier = indexes.get(key)
    if (!earlier) indexes.set(key, [i])
    else if (earlier.length < 3) earlier.push(i)
  }
  if (indexes.size === 0) return undefined
  const votes = new Map<number, number>()
  let highest = 1
  for (const [at, key] of searched.normalizedLines().entries()) {
    for (const index of indexes.get(key) ?? []) {
      const count = (votes.get(at - index) ?? 0) + Math.min(key.length, 40)
      votes.set(at - index, count)
      highest = Math.max(highest, count)
    }
  }
  const firsts = [...votes].filter(([, count]) => count === highest).map(([first]) => first)
  return mostSimilar(searched.lines().lines, oldLines, firsts.slice(0, maxCandidates))
}

/** Finds lines that are similar to the longest old line. */
function bySimilarLine(fileLines: readonly string[], oldLines: readonly string[]): number | undefined {
  const [longestIndex] = byWordCharacters(oldLines)
  const similarity = longestIndex === undefined ? undefined : similarityTo(oldLines[longestIndex]!)
  if (longestIndex === undefined || !similarity) return undefined
  let candidates: { first: number; score: number }[] = []
  for (const [at, line] of fileLines.entries()) {
    const score = similarity(line)
    if (score < minHintSimilarity) continue
    candidates.push({ first: at - longestIndex, score })
    // Reduced now and then, to bound memory.
    if (candidates.length >= 50 * maxCandidates) candidates = best(candidates)
  }
  return mostSimilar(
    fileLines,
    oldLines,
    best(candidates).map(({ first }) => first),
  )
}

function best(candidates: readonly { first: number; score: number }[]): { first: number; score: number }[] {
  return candidates.toSorted((a, b) => b.score - a.score || a.first - b.first).slice(0, maxCandidates)
}

/** The start at which the longest old lines are most similar to the lines of the file. */
function mostSimilar(
  fileLines: readonly string[],
  oldLines: readonly string[],
  firsts: readonly number[],
): number | undefined {
  if (firsts.length < 2) return firsts[0]
  const scoredLines = byWordCharacters(oldLines)
    .slice(0, maxScoredLines)
    .map((index) => ({ index, similarity: similarityTo(oldLines[index]!) }))
  const scores = firsts.map((first) =>
    scoredLines.reduce((sum, { index, similarity }) => sum + (similarity?.(fileLines[first + index] ?? '') ?? 0), 0),
  )
  return firsts[scores.indexOf(Math.max(...scores))]
}

/** Indexes of lines, those with the most word characters first. */
function byWordCharacters(lines: readonly string[]): number[] {
  const sizes = lines.map((line) => (line.length > maxLineLength ? 0 : (line.match(/[\p{L}\p{N}_]/gu)?.length ?? 0)))
  return [...sizes.keys()].filter((i) => sizes[i]! > 0).sort((a, b) => sizes[b]! - sizes[a]! || a - b)
}

/**
 * Returns a function that scores a line of the file from 0 to 1: the share of the old line's three-character pieces that it contains.
 * Case and whitespace do not count, and a line that is much longer scores less. Undefined if the old line is too short.
 */
function similarityTo(oldLine: string): ((fileLine: string) => number) | undefined {
  // Large enough that pieces seldom collide.
  const size = 2 ** Math.ceil(Math.log2(Math.max(oldLine.length, 64) * 16))
  const pieces = new Uint16Array(maxLineLength)
  const isPiece = new Uint8Array(size)
  for (let i = piecesOf(oldLine, pieces); i > 0; i--) isPiece[pieces[i - 1]! % size] = 1
  const oldCount = isPiece.reduce((sum, is) => sum + is, 0)
  if (oldCount < 2) return undefined
  const seenIn = new Uint32Array(size)
  let callNumber = 0
  return (fileLine) => {
    if (fileLine.length > maxLineLength || fileLine.length * 3 < oldLine.length) return 0
    callNumber++
    let found = 0
    let count = 0
    for (let i = piecesOf(fileLine, pieces); i > 0; i--) {
      const piece = pieces[i - 1]! % size
      if (seenIn[piece] === callNumber) continue
      seenIn[piece] = callNumber
      count++
      found += isPiece[piece]!
    }
    return (found / oldCount) * (0.6 + 0.4 * Math.min(oldCount / Math.max(count, 1), 1))
  }
}

/** Writes a hash of every three neighbouring characters, without whitespace and case, into `into`; returns the number of hashes. */
function piecesOf(text: string, into: Uint16Array): number {
  let [before, last, length] = [0, 0, 0]
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code <= 32 || code === 0xa0) continue
    const character = code >= 65 && code <= 90 ? code + 32 : code
    if (length >= 2) into[length - 2] = (before * 31 + last) * 31 + character
    length++
    before = last
    last = character
  }
  return Math.max(length - 2, 0)
}

/** How similar to the longest old line a line elsewhere must be to compete with the match. */
const minCompetingSimilarity = 0.75

/** Another place that the old text may mean. */
export interface CompetingPlace {
  /** `similar line`: the index of that line. `equal lines`: where old_string would begin; that line need not be one of the equal ones. */
  readonly lineIndex: number
  readonly kind: 'similar line' | 'equal lines'
}

/**
 * Another place in the file that the old text may mean instead of the match at line `matched`: either at least half of the
 * distinctive old lines are there unchanged, or one line there is very similar to the longest distinctive old line and has the
 * indentation of that old line. Example: the old text is `return size`, and the match is `  return size`. An unindented line `return sizes` competes.
 */
export function competingPlace(
  searched: SearchedText,
  oldLines: readonly string[],
  matched: number,
): CompetingPlace | undefined {
  const { lines: fileLines } = searched.lines()
  const distinctive = new Map(
    oldLines.flatMap((line, i) => (isDistinctive(line) ? [[line.trimEnd(), i] as const] : [])),
  )
  const longestLine = [...distinctive.keys()].toSorted((a, b) => b.length - a.length)[0]
  // If the match has a distinctive old line exactly, it is the right place.
  if (
    longestLine === undefined ||
    oldLines.some((line, i) => isDistinctive(line) && fileLines[matched + i]?.trimEnd() === line.trimEnd())
  )
    return undefined
  const indent = indentOf(longestLine)
  const votes = new Map<number, number>()
  const [similarity, edgeSimilarity] = [similarityTo(longestLine), edgeSimilarityTo(longestLine)]
  for (const [at, fileLine] of fileLines.entries()) {
    const line = fileLine.trimEnd()
    const index = distinctive.get(line)
    const first = at - (index ?? distinctive.get(longestLine)!)
    if (first > matched - oldLines.length && first < matched + oldLines.length) continue
    if (index !== undefined) votes.set(first, (votes.get(first) ?? 0) + 1)
    else if (
      indentOf(line) === indent &&
      Math.max(edgeSimilarity(line), similarity?.(line) ?? 0) >= minCompetingSimilarity
    )
      return { lineIndex: at, kind: 'similar line' }
  }
  const [mostVoted] = [...votes].toSorted(([, a], [, b]) => b - a)
  if (!mostVoted || mostVoted[1] * 2 < distinctive.size) return undefined
  return { lineIndex: Math.max(mostVoted[0], 0), kind: 'equal lines' }
}

/**
 * Returns a function that scores a line of the file from 0 to 1: the share of the old line, without its indentation, that it has in
 * common at its beginning and end.
 */
const edgeSimilarityTo =
  (oldLine: string) =>
  (fileLine: string): number => {
    const shorter = Math.min(oldLine.length, fileLine.length)
    let head = 0
    while (head < shorter && oldLine[head] === fileLine[head]) head++
    let tail = 0
    while (tail < shorter - head && oldLine.at(-1 - tail) === fileLine.at(-1 - tail)) tail++
    const indent = indentOf(oldLine).length
    return (head + tail - indent) / (oldLine.length - indent)
  }

/** The index of the line that contains a position. */
export function lineIndexAt(searched: SearchedText, position: number): number {
  return searched.lines().starts.findLastIndex((start) => start <= position)
}
