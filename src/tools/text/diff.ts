import { visibleName } from './visible.ts'

export interface DiffOptions {
  /** Lines shown around a change. Default 3. */
  readonly context?: number
  /** A longer diff is cut at the end of a line, with a note. Default 65,536. */
  readonly maxChars?: number
}

interface Hunk {
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
  /** With their sign in front. */
  readonly lines: readonly string[]
}

/** More edits than this are not worth telling apart: all between the first and the last is then shown as one change. */
const mostEdits = 1000

/** How one text became the other, as a unified diff; empty when nothing changed. Quick for small changes of large texts. */
export async function unifiedDiff(
  path: string,
  before: string,
  after: string,
  { context = 3, maxChars = 65_536 }: DiffOptions = {},
): Promise<string> {
  if (before === after) return ''
  const { start, beforeEnd, afterEnd } = changedSpan(before, after)
  const from = backLines(before, start, context)
  const to = forwardLines(before, beforeEnd, context)
  const above = before.slice(from, start)
  const below = before.slice(beforeEnd, to)
  const removed = before.slice(start, beforeEnd)
  const added = after.slice(start, afterEnd)

  const fine = await fineHunks(above + removed + below, above + added + below, context)
  const hunks = fine ?? [coarseHunk(above, removed, added, below)]
  const linesAbove = countLines(before, from)
  const name = visibleName(path)
  return bounded([`--- ${name}`, `+++ ${name}`, ...hunks.flatMap((hunk) => shown(hunk, linesAbove))], maxChars)
}

/** What lies between the whole lines that both texts begin with and those that both end with. */
function changedSpan(before: string, after: string): { start: number; beforeEnd: number; afterEnd: number } {
  const shorter = Math.min(before.length, after.length)
  let same = 0
  while (same < shorter && before.charCodeAt(same) === after.charCodeAt(same)) same++
  const start = same === 0 ? 0 : before.lastIndexOf('\n', same - 1) + 1

  let tail = 0
  const most = shorter - start
  while (tail < most && before.charCodeAt(before.length - 1 - tail) === after.charCodeAt(after.length - 1 - tail))
    tail++
  // The first line of it may be the rest of a line that differs.
  const newline = before.indexOf('\n', before.length - tail)
  const kept = newline < 0 ? 0 : before.length - newline - 1
  return { start, beforeEnd: before.length - kept, afterEnd: after.length - kept }
}

/** Where the line begins that is so many lines above the one that begins at `at`. */
function backLines(text: string, at: number, lines: number): number {
  for (; lines > 0 && at > 0; lines--) at = at === 1 ? 0 : text.lastIndexOf('\n', at - 2) + 1
  return at
}

function forwardLines(text: string, at: number, lines: number): number {
  for (; lines > 0 && at < text.length; lines--) at = text.indexOf('\n', at) + 1 || text.length
  return at
}

function countLines(text: string, end: number): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0 && at < end; at = text.indexOf('\n', at + 1)) count++
  return count
}

/** `undefined` when the texts differ too much. */
async function fineHunks(before: string, after: string, context: number): Promise<readonly Hunk[] | undefined> {
  const { structuredPatch } = await import('diff')
  return structuredPatch('', '', before, after, '', '', { context, maxEditLength: mostEdits })?.hunks
}

function coarseHunk(above: string, removed: string, added: string, below: string): Hunk {
  const size = (text: string): number => countLines(text, text.length) + (text === '' || text.endsWith('\n') ? 0 : 1)
  return {
    oldStart: 1,
    oldLines: size(above) + size(removed) + size(below),
    newStart: 1,
    newLines: size(above) + size(added) + size(below),
    lines: [...signed(' ', above), ...signed('-', removed), ...signed('+', added), ...signed(' ', below)],
  }
}

function signed(sign: string, text: string): string[] {
  if (text === '') return []
  const isWhole = text.endsWith('\n')
  const lines = (isWhole ? text.slice(0, -1) : text).split('\n').map((line) => sign + line)
  return isWhole ? lines : [...lines, '\\ No newline at end of file']
}

function shown({ oldStart, oldLines, newStart, newLines, lines }: Hunk, linesAbove: number): readonly string[] {
  // A side without lines is named by the line above it.
  const side = (start: number, count: number): string => `${linesAbove + start - (count === 0 ? 1 : 0)},${count}`
  return [`@@ -${side(oldStart, oldLines)} +${side(newStart, newLines)} @@`, ...lines]
}

function bounded(lines: readonly string[], maxChars: number): string {
  let length = 0
  for (let i = 0; i < lines.length; i++) {
    length += lines[i]!.length + 1
    if (length > maxChars) return `${lines.slice(0, i).join('\n')}\n… (${lines.length - i} more lines of this diff)\n`
  }
  return `${lines.join('\n')}\n`
}
