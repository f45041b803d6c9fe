import { essenceOf } from './look-alikes.ts'
import { saysEnough } from './says-enough.ts'
import type { SearchedText } from './searched-text.ts'

/** More lines than this are not looked for, longer ones not looked at: it is only a hint. */
const mostLines = 200
const longestLine = 2000
/** Of the three-letter pieces of a line, how many must be found again. */
const leastLikeness = 0.45
const mostCandidates = 20
const mostJudges = 12

/**
 * The index of the line at which the wanted lines would begin, if they stood where the file is most like them: below 0
 * when their first lines are not there. `undefined` when nothing is like them. One or two passes over the file.
 */
export function nearestLines(searched: SearchedText, wanted: readonly string[]): number | undefined {
  const looked = wanted.slice(0, mostLines)
  const { texts } = searched.lines()
  return byEqualLines(searched, looked) ?? bySimilarLine(texts, looked)
}

/** Each line that is the same votes for where the wanted ones would begin, the longer the more. */
function byEqualLines(searched: SearchedText, wanted: readonly string[]): number | undefined {
  const indexes = new Map<string, number[]>()
  for (const [i, line] of wanted.entries()) {
    const key = essenceOf(line)
    if (line.length > longestLine || !saysEnough(key)) continue
    const known = indexes.get(key)
    if (!known) indexes.set(key, [i])
    else if (known.length < 3) known.push(i)
  }
  if (indexes.size === 0) return undefined
  const votes = new Map<number, number>()
  let most = 1
  for (const [at, key] of searched.essences().entries()) {
    for (const index of indexes.get(key) ?? []) {
      const count = (votes.get(at - index) ?? 0) + Math.min(key.length, 40)
      votes.set(at - index, count)
      most = Math.max(most, count)
    }
  }
  const firsts = [...votes].filter(([, count]) => count === most).map(([first]) => first)
  return mostAlike(searched.lines().texts, wanted, firsts.slice(0, mostCandidates))
}

/** Finds the line that says most, or what comes close to it. */
function bySimilarLine(texts: readonly string[], wanted: readonly string[]): number | undefined {
  const [longest] = bySize(wanted)
  const likeness = longest === undefined ? undefined : likenessTo(wanted[longest]!)
  if (longest === undefined || !likeness) return undefined
  let candidates: { first: number; score: number }[] = []
  for (const [at, line] of texts.entries()) {
    const score = likeness(line)
    if (score < leastLikeness) continue
    candidates.push({ first: at - longest, score })
    // Weeded out now and then, so that there are never many.
    if (candidates.length >= 50 * mostCandidates) candidates = best(candidates)
  }
  return mostAlike(
    texts,
    wanted,
    best(candidates).map(({ first }) => first),
  )
}

function best(candidates: readonly { first: number; score: number }[]): { first: number; score: number }[] {
  return candidates.toSorted((a, b) => b.score - a.score || a.first - b.first).slice(0, mostCandidates)
}

/** Of several places the one that is most like all of the wanted lines that say something. */
function mostAlike(texts: readonly string[], wanted: readonly string[], firsts: readonly number[]): number | undefined {
  if (firsts.length < 2) return firsts[0]
  const judges = bySize(wanted)
    .slice(0, mostJudges)
    .map((index) => ({ index, likeness: likenessTo(wanted[index]!) }))
  const scores = firsts.map((first) =>
    judges.reduce((sum, { index, likeness }) => sum + (likeness?.(texts[first + index] ?? '') ?? 0), 0),
  )
  return firsts[scores.indexOf(Math.max(...scores))]
}

/** Indexes of lines, those that say most first. */
function bySize(lines: readonly string[]): number[] {
  const sizes = lines.map((line) => (line.length > longestLine ? 0 : (line.match(/[\p{L}\p{N}_]/gu)?.length ?? 0)))
  return [...sizes.keys()].filter((i) => sizes[i]! > 0).sort((a, b) => sizes[b]! - sizes[a]! || a - b)
}

/** How much of a line is found again in another, 0 to 1, whatever its case and whitespace; less in a much longer one. */
export function likenessTo(wanted: string): ((line: string) => number) | undefined {
  // With room enough that pieces seldom share a place.
  const size = 2 ** Math.ceil(Math.log2(Math.max(wanted.length, 64) * 16))
  const pieces = new Uint16Array(longestLine)
  const isPiece = new Uint8Array(size)
  for (let i = piecesOf(wanted, pieces); i > 0; i--) isPiece[pieces[i - 1]! % size] = 1
  const wantedCount = isPiece.reduce((sum, is) => sum + is, 0)
  if (wantedCount < 2) return undefined
  const seenIn = new Uint32Array(size)
  let line = 0
  return (text) => {
    if (text.length > longestLine || text.length * 3 < wanted.length) return 0
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

/** Three characters in a row, without whitespace and case, as small numbers. Tells how many there are. */
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
