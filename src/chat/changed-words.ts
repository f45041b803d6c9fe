/** A part of a line, and whether the other line lacks it. */
export interface WordPart {
  readonly text: string
  readonly isChanged: boolean
}

/**
 * What differs between a removed and an added line, word by word. Lines with little in common count as changed whole,
 * since scattered marks would only confuse.
 */
export function changedWords(removed: string, added: string): readonly [removed: WordPart[], added: WordPart[]] {
  const [old, now] = [wordsOf(removed), wordsOf(added)]
  if (old.length * now.length > mostPairs) return [whole(removed), whole(added)]
  const common = commonWords(old, now)
  const kept = common.reduce((sum, [i]) => sum + old[i]!.trim().length, 0)
  if (kept * 3 < Math.max(removed.trim().length, added.trim().length)) return [whole(removed), whole(added)]
  return [partsOf(old, new Set(common.map(([i]) => i))), partsOf(now, new Set(common.map(([, i]) => i)))]
}

/** Longer lines are not compared: time grows with the product of their lengths. */
const mostPairs = 250_000

const whole = (text: string): WordPart[] => (text === '' ? [] : [{ text, isChanged: false }])

const wordsOf = (line: string): readonly string[] => line.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? []

/** The longest common subsequence, as pairs of indexes. */
function commonWords(old: readonly string[], now: readonly string[]): (readonly [number, number])[] {
  const width = now.length + 1
  const best = new Uint32Array((old.length + 1) * width)
  for (let i = old.length - 1; i >= 0; i--)
    for (let k = now.length - 1; k >= 0; k--)
      best[i * width + k] =
        old[i] === now[k]
          ? best[(i + 1) * width + k + 1]! + 1
          : Math.max(best[(i + 1) * width + k]!, best[i * width + k + 1]!)
  const pairs: (readonly [number, number])[] = []
  for (let i = 0, k = 0; i < old.length && k < now.length; ) {
    if (old[i] === now[k]) pairs.push([i++, k++])
    else if (best[(i + 1) * width + k]! >= best[i * width + k + 1]!) i++
    else k++
  }
  return pairs
}

/** Neighbours of one kind are joined; blanks between changed words count as changed. */
function partsOf(words: readonly string[], kept: ReadonlySet<number>): WordPart[] {
  const parts: { text: string; isChanged: boolean }[] = []
  for (const [i, text] of words.entries()) {
    const isBetween = /^\s+$/.test(text) && i > 0 && i < words.length - 1 && !kept.has(i - 1) && !kept.has(i + 1)
    const isChanged = !kept.has(i) || isBetween
    const last = parts.at(-1)
    if (last?.isChanged === isChanged) last.text += text
    else parts.push({ text, isChanged })
  }
  return parts
}
