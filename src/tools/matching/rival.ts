import { indentOf } from './indentation.ts'
import { likenessTo } from './nearest-lines.ts'
import { saysEnough } from './says-enough.ts'
import type { SearchedText } from './searched-text.ts'

/** So much of a line must be found again in another of the same indentation. */
const leastLikeness = 0.75

/**
 * The index of a line, away from the place that was found, at which the old text may have stood until something in it
 * changed: half of its telling lines are there to the letter, or its longest one nearly is, indentation and all.
 */
export function rivalOf(searched: SearchedText, old: readonly string[], found: number): number | undefined {
  const { texts } = searched.lines()
  const telling = new Map(old.flatMap((line, i) => (saysEnough(line) ? [[line.trimEnd(), i] as const] : [])))
  const longest = [...telling.keys()].toSorted((a, b) => b.length - a.length)[0]
  // A line that is there to the letter shows that the place is the right one.
  if (
    longest === undefined ||
    old.some((line, i) => saysEnough(line) && texts[found + i]?.trimEnd() === line.trimEnd())
  )
    return undefined
  const indent = indentOf(longest)
  const votes = new Map<number, number>()
  const [likeness, edges] = [likenessTo(longest), edgesOf(longest)]
  for (const [at, text] of texts.entries()) {
    const line = text.trimEnd()
    const index = telling.get(line)
    const first = at - (index ?? telling.get(longest)!)
    if (first > found - old.length && first < found + old.length) continue
    if (index !== undefined) votes.set(first, (votes.get(first) ?? 0) + 1)
    else if (indentOf(line) === indent && Math.max(edges(line), likeness?.(line) ?? 0) >= leastLikeness) return at
  }
  const [best] = [...votes].toSorted(([, a], [, b]) => b - a)
  return best && best[1] * 2 >= telling.size ? Math.max(best[0], 0) : undefined
}

/** How much of a line another one begins and ends with. */
const edgesOf =
  (wanted: string) =>
  (line: string): number => {
    const most = Math.min(wanted.length, line.length)
    let head = 0
    while (head < most && wanted[head] === line[head]) head++
    let tail = 0
    while (tail < most - head && wanted.at(-1 - tail) === line.at(-1 - tail)) tail++
    const indent = indentOf(wanted).length
    return (head + tail - indent) / (wanted.length - indent)
  }

/** The index of the line that begins at a position, or holds it. */
export function lineIndexAt(searched: SearchedText, position: number): number {
  return searched.lines().starts.findLastIndex((start) => start <= position)
}
