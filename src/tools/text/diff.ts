import { visibleName } from '../../platform/visible-text.ts'

export interface DiffOptions {
  /** Lines shown around a change. Default 3. */
  readonly context?: number
  /** A longer diff is cut after a line, and a line longer than a sixteenth of it inside, with a note. Default 65,536. */
  readonly maxChars?: number
}

interface Hunk {
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
  readonly added: number
  readonly removed: number
  /** With their sign in front. */
  readonly lines: Iterable<string>
  /** How many `lines` there are. */
  readonly count: number
}

/** A diff with the number of added and removed lines. */
export interface CountedDiff {
  readonly diff: string
  readonly added: number
  readonly removed: number
  /** Lines that were cut at the end. */
  readonly moreLines?: number
}

/** With more edits, everything between the first and the last is shown as one change. */
const maxEdits = 1000
/** The same for a changed part that is longer than this, or has more lines. */
const maxComparedLength = 32 * 1024 * 1024
const maxComparedLines = 500_000

/** The unified diff of two texts; empty if they are equal. Fast for small changes of large texts. */
export async function unifiedDiff(
  path: string,
  before: string,
  after: string,
  options: DiffOptions = {},
): Promise<string> {
  return diffWithNote(await countedDiff(path, before, after, options))
}

/** A diff with a note about cut lines. */
export function diffWithNote({ diff, moreLines = 0 }: CountedDiff): string {
  return moreLines > 0 ? `${diff}… (${moreLines} more lines of this diff)\n` : diff
}

/** The same with counts. */
export async function countedDiff(
  path: string,
  before: string,
  after: string,
  { context = 3, maxChars = 65_536 }: DiffOptions = {},
): Promise<CountedDiff> {
  if (before === after) return { diff: '', added: 0, removed: 0 }
  const { start, beforeEnd, afterEnd } = changedSpan(before, after)
  const from = backLines(before, start, context)
  const to = forwardLines(before, beforeEnd, context)
  const above = before.slice(from, start)
  const below = before.slice(beforeEnd, to)
  const removed = before.slice(start, beforeEnd)
  const added = after.slice(start, afterEnd)

  const coarse = coarseHunk(above, removed, added, below)
  const isSmall = removed.length + added.length <= maxComparedLength && coarse.count <= maxComparedLines
  const fine = isSmall ? await fineHunks(above + removed + below, above + added + below, context) : undefined
  const hunks = fine ?? [coarse]
  return {
    ...bounded(visibleName(path), hunks, countLines(before, from), maxChars),
    added: hunks.reduce((sum, hunk) => sum + hunk.added, 0),
    removed: hunks.reduce((sum, hunk) => sum + hunk.removed, 0),
  }
}

/** Characters compared at a time. */
const stride = 4096

/** The part between the common whole lines at the beginning and at the end. */
function changedSpan(before: string, after: string): { start: number; beforeEnd: number; afterEnd: number } {
  const shorter = Math.min(before.length, after.length)
  let same = 0
  while (same < shorter && before.slice(same, same + stride) === after.slice(same, same + stride)) same += stride
  same = Math.min(same, shorter)
  while (same < shorter && before.charCodeAt(same) === after.charCodeAt(same)) same++
  const start = same === 0 ? 0 : before.lastIndexOf('\n', same - 1) + 1

  let tail = 0
  const maxTail = shorter - start
  const back = (text: string): string => text.slice(text.length - tail - stride, text.length - tail)
  while (tail + stride <= maxTail && back(before) === back(after)) tail += stride
  while (tail < maxTail && before.charCodeAt(before.length - 1 - tail) === after.charCodeAt(after.length - 1 - tail))
    tail++
  // The first common line may be the rest of a line that differs.
  const newline = before.indexOf('\n', before.length - tail)
  const kept = newline < 0 ? 0 : before.length - newline - 1
  return { start, beforeEnd: before.length - kept, afterEnd: after.length - kept }
}

/** The start of the line that is `lines` lines above the one at `at`. */
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

/** `undefined` if the texts differ too much. */
async function fineHunks(before: string, after: string, context: number): Promise<readonly Hunk[] | undefined> {
  const { structuredPatch } = await import('diff')
  const patch = structuredPatch('', '', before, after, '', '', { context, maxEditLength: maxEdits })
  return patch?.hunks.map((hunk) => ({
    ...hunk,
    added: signsIn(hunk.lines, '+'),
    removed: signsIn(hunk.lines, '-'),
    count: hunk.lines.length,
  }))
}

const signsIn = (lines: readonly string[], sign: string): number =>
  lines.reduce((sum, line) => sum + (line.startsWith(sign) ? 1 : 0), 0)

/** Its lines are generated on demand: there may be millions. */
function coarseHunk(above: string, removed: string, added: string, below: string): Hunk {
  const parts = [
    { sign: ' ', text: above, size: sizeOf(above) },
    { sign: '-', text: removed, size: sizeOf(removed) },
    { sign: '+', text: added, size: sizeOf(added) },
    { sign: ' ', text: below, size: sizeOf(below) },
  ]
  const linesOf = (side: string): number => parts.reduce((sum, { sign, size }) => sum + (sign === side ? 0 : size), 0)
  const unended = parts.filter(({ text }) => text !== '' && !text.endsWith('\n')).length
  return {
    oldStart: 1,
    oldLines: linesOf('+'),
    newStart: 1,
    newLines: linesOf('-'),
    added: sizeOf(added),
    removed: sizeOf(removed),
    lines: linesOfParts(parts),
    count: parts.reduce((sum, { size }) => sum + size, unended),
  }
}

function* linesOfParts(parts: readonly { readonly sign: string; readonly text: string }[]): Iterable<string> {
  for (const { sign, text } of parts) yield* signed(sign, text)
}

const sizeOf = (text: string): number => countLines(text, text.length) + (text === '' || text.endsWith('\n') ? 0 : 1)

function* signed(sign: string, text: string): Iterable<string> {
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at)
    yield sign + text.slice(at, end < 0 ? text.length : end)
    if (end < 0) yield '\\ No newline at end of file'
    at = end < 0 ? text.length : end + 1
  }
}

function headerOf({ oldStart, oldLines, newStart, newLines }: Hunk, linesAbove: number): string {
  // A side without lines has the number of the line above it.
  const side = (start: number, count: number): string => `${linesAbove + start - (count === 0 ? 1 : 0)},${count}`
  return `@@ -${side(oldStart, oldLines)} +${side(newStart, newLines)} @@`
}

function bounded(
  name: string,
  hunks: readonly Hunk[],
  linesAbove: number,
  maxChars: number,
): Pick<CountedDiff, 'diff' | 'moreLines'> {
  const shown: string[] = []
  const maxLineLength = Math.max(1000, maxChars / 16)
  let length = 0
  for (const whole of aroundChanges(linesOfDiff(name, hunks, linesAbove), maxLineLength)) {
    const line = beginningOf(whole, maxLineLength)
    length += line.length + 1
    if (length > maxChars) {
      const total = hunks.reduce((sum, { count }) => sum + 1 + count, 2)
      return { diff: `${shown.join('\n')}\n`, moreLines: total - shown.length }
    }
    shown.push(line)
  }
  return { diff: `${shown.join('\n')}\n` }
}

/** Cuts a line that is too long, such as one of a minified file. */
function beginningOf(line: string, maxLength: number): string {
  if (line.length <= maxLength) return line
  return `${line.slice(0, maxLength)}… (${line.length - maxLength} more characters of this line)`
}

function* linesOfDiff(name: string, hunks: readonly Hunk[], linesAbove: number): Iterable<string> {
  yield `--- ${name}`
  yield `+++ ${name}`
  for (const hunk of hunks) {
    yield headerOf(hunk, linesAbove)
    yield* hunk.lines
  }
}

/**
 * The lines of a diff. If a line longer than `maxLength` is replaced, both lines begin shortly before their first difference, so
 * that the change is visible although the line is cut.
 */
export function* aroundChanges(lines: Iterable<string>, maxLength: number): Iterable<string> {
  /** Removed lines and their replacements. */
  let change: string[] = []
  let isAdding = false
  for (const line of lines) {
    const goesOn = line.startsWith('+') || line.startsWith('\\') || (line.startsWith('-') && !isAdding)
    if (!goesOn || change.length >= maxPairedLines) {
      yield* shortened(change, maxLength)
      change = []
    }
    isAdding = line.startsWith('+') || (line.startsWith('\\') && isAdding)
    change.push(line)
  }
  yield* shortened(change, maxLength)
}

/** Longer changes are not collected. */
const maxPairedLines = 200
/** Characters shown before the change. */
const shownBefore = 40

function shortened(change: string[], maxLength: number): string[] {
  if (change.every((line) => line.length <= maxLength)) return change
  const added = indexesOf(change, '+')
  for (const [i, before] of indexesOf(change, '-').entries()) {
    const after = added[i]
    if (after === undefined) break
    const [old = '', now = ''] = [change[before], change[after]]
    const cut = sameUntil(old, now) - shownBefore
    if (cut < shownBefore || Math.max(old.length, now.length) <= maxLength) continue
    for (const at of [before, after])
      change[at] = `${change[at]![0]}… (${cut - 1} characters as before) …${change[at]!.slice(cut)}`
  }
  return change
}

const indexesOf = (lines: readonly string[], sign: string): number[] =>
  lines.flatMap((line, i) => (line.startsWith(sign) ? [i] : []))

/** The first position after their signs at which two lines differ. */
function sameUntil(a: string, b: string): number {
  let at = 1
  while (at < a.length && a[at] === b[at]) at++
  return at
}
