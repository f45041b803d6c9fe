import { visibleName } from '../platform/visible-text.ts'
import { changedWords, type WordPart } from './changed-words.ts'

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
