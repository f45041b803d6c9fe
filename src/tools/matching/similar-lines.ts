import { indentOf } from './indentation.ts'
import { normalizedLine } from './look-alikes.ts'
import { isDistinctive, type SearchedText } from './searched-text.ts'

/** Limits on the compared lines: the result is only a hint. */
const maxComparedLines = 200
const maxLineLength = 2000
/** How similar (`similarityTo`) a line must be to be a candidate. */
const minSimilarity = 0.45
const maxCandidates = 20
const maxScoredLines = 12

/**
 * The index at which the wanted lines would begin in the most similar part of the file; below 0 if their first lines are
 * not there. `undefined` if nothing is similar. Takes one or two passes over the file.
 */
export function nearestLines(searched: SearchedText, wanted: readonly string[]): number | undefined {
  const compared = wanted.slice(0, maxComparedLines)
  const { texts } = searched.lines()
  return byEqualLines(searched, compared) ?? bySimilarLine(texts, compared)
}

/** Each equal line votes for a start of the wanted lines; longer lines count more. */
function byEqualLines(searched: SearchedText, wanted: readonly string[]): number | undefined {
  const indexes = new Map<string, number[]>()
  for (const [i, line] of wanted.entries()) {
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
  return mostSimilar(searched.lines().texts, wanted, firsts.slice(0, maxCandidates))
}

/** Finds lines that are similar to the longest wanted line. */
function bySimilarLine(texts: readonly string[], wanted: readonly string[]): number | undefined {
  const [longest] = byWordCharacters(wanted)
  const similarity = longest === undefined ? undefined : similarityTo(wanted[longest]!)
  if (longest === undefined || !similarity) return undefined
  let candidates: { first: number; score: number }[] = []
  for (const [at, line] of texts.entries()) {
    const score = similarity(line)
    if (score < minSimilarity) continue
    candidates.push({ first: at - longest, score })
    // Reduced now and then, to bound memory.
    if (candidates.length >= 50 * maxCandidates) candidates = best(candidates)
  }
  return mostSimilar(
    texts,
    wanted,
    best(candidates).map(({ first }) => first),
  )
}

function best(candidates: readonly { first: number; score: number }[]): { first: number; score: number }[] {
  return candidates.toSorted((a, b) => b.score - a.score || a.first - b.first).slice(0, maxCandidates)
}

/** The start at which the longest wanted lines are most similar to those of the file. */
function mostSimilar(
  texts: readonly string[],
  wanted: readonly string[],
  firsts: readonly number[],
): number | undefined {
  if (firsts.length < 2) return firsts[0]
  const longest = byWordCharacters(wanted)
    .slice(0, maxScoredLines)
    .map((index) => ({ index, similarity: similarityTo(wanted[index]!) }))
  const scores = firsts.map((first) =>
    longest.reduce((sum, { index, similarity }) => sum + (similarity?.(texts[first + index] ?? '') ?? 0), 0),
  )
  return firsts[scores.indexOf(Math.max(...scores))]
}

/** Indexes of lines, those with the most word characters first. */
function byWordCharacters(lines: readonly string[]): number[] {
  const sizes = lines.map((line) => (line.length > maxLineLength ? 0 : (line.match(/[\p{L}\p{N}_]/gu)?.length ?? 0)))
  return [...sizes.keys()].filter((i) => sizes[i]! > 0).sort((a, b) => sizes[b]! - sizes[a]! || a - b)
}

/** How much of a line is found again in another, 0 to 1, ignoring case and whitespace; a much longer line scores less. */
function similarityTo(wanted: string): ((line: string) => number) | undefined {
  // Large enough that pieces seldom collide.
  const size = 2 ** Math.ceil(Math.log2(Math.max(wanted.length, 64) * 16))
  const pieces = new Uint16Array(maxLineLength)
  const isPiece = new Uint8Array(size)
  for (let i = piecesOf(wanted, pieces); i > 0; i--) isPiece[pieces[i - 1]! % size] = 1
  const wantedCount = isPiece.reduce((sum, is) => sum + is, 0)
  if (wantedCount < 2) return undefined
  const seenIn = new Uint32Array(size)
  let line = 0
  return (text) => {
    if (text.length > maxLineLength || text.length * 3 < wanted.length) return 0
    line++
    let found = 0
    let count = 0
    for (let i = piecesOf(text, pieces); i > 0; i--) {
      const piece = pieces[i - 1]! % size
      if (seenIn[piece] === line) continue
      seenIn[piece] = line
      count++
      found += isPiece[piece]!
    }
    return (found / wantedCount) * (0.6 + 0.4 * Math.min(wantedCount / Math.max(count, 1), 1))
  }
}

/** Writes a hash of every three characters, without whitespace and case, into `into`; returns how many there are. */
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

/** How similar another line of the same indentation must be to compete. */
const minLineSimilarity = 0.75

/**
 * The index of a line elsewhere in the file that the old text may mean instead of the match: at least half of the distinctive
 * lines of the old text follow there unchanged, or the line has the indentation of the longest one and is very similar to it.
 */
export function competingLine(searched: SearchedText, old: readonly string[], matched: number): number | undefined {
  const { texts } = searched.lines()
  const distinctive = new Map(old.flatMap((line, i) => (isDistinctive(line) ? [[line.trimEnd(), i] as const] : [])))
  const longest = [...distinctive.keys()].toSorted((a, b) => b.length - a.length)[0]
  // A line that matches exactly shows that the match is the right one.
  if (
    longest === undefined ||
    old.some((line, i) => isDistinctive(line) && texts[matched + i]?.trimEnd() === line.trimEnd())
  )
    return undefined
  const indent = indentOf(longest)
  const votes = new Map<number, number>()
  const [similarity, edges] = [similarityTo(longest), edgesOf(longest)]
  for (const [at, text] of texts.entries()) {
    const line = text.trimEnd()
    const index = distinctive.get(line)
    const first = at - (index ?? distinctive.get(longest)!)
    if (first > matched - old.length && first < matched + old.length) continue
    if (index !== undefined) votes.set(first, (votes.get(first) ?? 0) + 1)
    else if (indentOf(line) === indent && Math.max(edges(line), similarity?.(line) ?? 0) >= minLineSimilarity) return at
  }
  const [best] = [...votes].toSorted(([, a], [, b]) => b - a)
  return best && best[1] * 2 >= distinctive.size ? Math.max(best[0], 0) : undefined
}

/** The share of `wanted` that another line has in common at its beginning and end. */
const edgesOf =
  (wanted: string) =>
  (line: string): number => {
    const shorter = Math.min(wanted.length, line.length)
    let head = 0
    while (head < shorter && wanted[head] === line[head]) head++
    let tail = 0
    while (tail < shorter - head && wanted.at(-1 - tail) === line.at(-1 - tail)) tail++
    const indent = indentOf(wanted).length
    return (head + tail - indent) / (wanted.length - indent)
  }

/** The index of the line that contains a position. */
export function lineIndexAt(searched: SearchedText, position: number): number {
  return searched.lines().starts.findLastIndex((start) => start <= position)
}
