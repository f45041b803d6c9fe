import { visibleName } from '../platform/visible-text.ts'

/** A line of a diff, made visible. */
export interface DiffRow {
  readonly kind: 'file' | 'hunk' | 'same' | 'added' | 'removed' | 'note'
  readonly parts: readonly WordPart[]
  /** Its numbers in the file before and after. */
  readonly before?: number
  readonly after?: number
}

/** Reads a unified diff, or several as `git diff` prints them. Within changed lines it finds the words that changed. */
export function readDiff(diff: string): DiffRow[] {
  const rows: DiffRow[] = []
  let removed: string[] = []
  let added: string[] = []
  let numbers = { before: 0, after: 0 }
  /** The lines that the hunk still has: `---` within it is a removed line. */
  let left = { before: 0, after: 0 }

  const flush = (): void => {
    const pairs = removed.map((line, i) => (added[i] === undefined ? undefined : changedWords(line, added[i])))
    for (const [i, line] of removed.entries())
      rows.push({ kind: 'removed', parts: pairs[i]?.[0] ?? plain(line), before: numbers.before++ })
    for (const [i, line] of added.entries())
      rows.push({ kind: 'added', parts: pairs[i]?.[1] ?? plain(line), after: numbers.after++ })
    removed = []
    added = []
  }
  for (const line of diff.replace(/\n$/, '').split('\n')) {
    const isInHunk = left.before > 0 || left.after > 0
    const text = visibleLine(line.slice(1))
    if (isInHunk && line.startsWith('-')) {
      if (added.length > 0) flush()
      removed.push(text)
      left = { ...left, before: left.before - 1 }
    } else if (isInHunk && line.startsWith('+')) {
      added.push(text)
      left = { ...left, after: left.after - 1 }
    } else {
      flush()
      const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line)
      if (hunk) {
        numbers = { before: Number(hunk[1]), after: Number(hunk[3]) }
        left = { before: Number(hunk[2] ?? 1), after: Number(hunk[4] ?? 1) }
        rows.push({ kind: 'hunk', parts: plain(visibleLine(line)) })
      } else if (isInHunk && (line.startsWith(' ') || line === '')) {
        rows.push({ kind: 'same', parts: plain(text), before: numbers.before++, after: numbers.after++ })
        left = { before: left.before - 1, after: left.after - 1 }
      } else if (isFile.test(line)) rows.push({ kind: 'file', parts: plain(visibleLine(line)) })
      else if (!isNoise.test(line)) rows.push({ kind: 'note', parts: plain(visibleLine(line)) })
    }
  }
  flush()
  return rows
}

const isFile = /^(?:\+\+\+|rename |new file|deleted file|Binary files)/
/** Lines of git that repeat what another one says. */
const isNoise = /^(?:diff --git|index [0-9a-f]|similarity |---|$)/

const plain = (text: string): WordPart[] => [{ text, isChanged: false }]

export const visibleLine = (line: string): string => visibleName(line.replace(/\r$/, '').replaceAll('\t', '    '))

/** A part of a line, and whether the other line lacks it. */
interface WordPart {
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
