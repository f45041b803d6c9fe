import * as fs from 'node:fs'
import { StoreError } from '../../core/errors.ts'
import type { LogEntry } from '../../core/log.ts'
import { withReadErrors } from './file-errors.ts'
import { readBytes } from './files.ts'
import { completeEnd, corrupt, entriesIn, lineStart } from './log-lines.ts'

/** The start of a line in a log: entry `seq` begins at `offset`, or will begin there. */
export interface LinePosition {
  readonly seq: number
  readonly offset: number
}

/** An open file with entries of a log: its last part, or one that a fork shares. */
export interface OpenLogPart {
  readonly fd: number
  readonly path: string
  /** The number of the entry in its first line. */
  readonly first: number
  /** Where the part ends. Default: at the end of the file. */
  readonly end?: LinePosition
}

/** A part of a log is searched line by line if it has at most this many bytes. */
const chunk = 16 * 1024

/** Where the next entry will begin: the end of the last complete batch. Reads only the end of the file. */
export function findEnd({ fd, path, first }: OpenLogPart): LinePosition {
  const { size } = withReadErrors(path, () => fs.fstatSync(fd))
  for (let length = chunk; ; length *= 4) {
    const start = Math.max(0, size - length)
    const bytes = withReadErrors(path, () => readBytes(fd, start, size))
    const end = completeEnd(bytes)
    const from = lineStart(bytes, end)
    // A line at the start of the piece may begin before it.
    if (end > 0 && (from > 0 || start === 0))
      return { seq: seqIn(bytes.subarray(from, end - 1), { fd, path, first }) + 1, offset: start + end }
    if (start === 0) return { seq: first, offset: 0 }
  }
}

/** The position of entry `seq`, which is between two known positions. Reads a few lines, however long the log is. */
export function findLine(log: OpenLogPart, seq: number, low: LinePosition, high: LinePosition): LinePosition {
  let [before, after] = [low, high]
  while (before.seq < seq && before.seq + 1 < after.seq) {
    if (after.offset - before.offset <= chunk) return lineWithin(log, seq, before, after)
    const middle = Math.floor((before.offset + after.offset) / 2) // no `>> 1`, which ends at 2 GiB
    const found = lineNear(log, middle, before, after)
    if (found.seq <= before.seq || found.seq >= after.seq) throw misplaced(log, found)
    if (found.seq <= seq) before = found
    else after = found
  }
  return before.seq === seq ? before : after
}

/** The first line that begins after an offset, or else the last one before it. */
function lineNear(log: OpenLogPart, offset: number, low: LinePosition, high: LinePosition): LinePosition {
  const next = lineEnd(log, offset, high.offset)
  const start = next < high.offset ? next : lineStartBefore(log, offset, low.offset)
  const end = lineEnd(log, start, high.offset)
  const line = withReadErrors(log.path, () => readBytes(log.fd, start, end - 1))
  return { seq: seqIn(line, log), offset: start }
}

function lineWithin({ fd, path }: OpenLogPart, seq: number, low: LinePosition, high: LinePosition): LinePosition {
  const bytes = withReadErrors(path, () => readBytes(fd, low.offset, high.offset))
  let offset = 0
  for (let line = low.seq; line < seq; line++) offset = bytes.indexOf(newline, offset) + 1 || bytes.length
  return { seq, offset: low.offset + offset }
}

/** Where the line that contains an offset ends, after its line break. */
function lineEnd({ fd, path }: OpenLogPart, offset: number, limit: number): number {
  for (let start = offset; start < limit; start += chunk) {
    const bytes = withReadErrors(path, () => readBytes(fd, start, Math.min(limit, start + chunk)))
    const at = bytes.indexOf(newline)
    if (at >= 0) return start + at + 1
  }
  return limit
}

function lineStartBefore({ fd, path }: OpenLogPart, offset: number, limit: number): number {
  for (let end = offset; end > limit; end -= chunk) {
    const start = Math.max(limit, end - chunk)
    const at = withReadErrors(path, () => readBytes(fd, start, end)).lastIndexOf(newline)
    if (at >= 0) return start + at + 1
  }
  return limit
}

const newline = 10

/** The entries from a position on, at most `count`. `end` is the position after the last entry of the log. */
export function readLines(log: OpenLogPart, from: LinePosition, count: number, end: LinePosition): LogEntry[] {
  const { fd, path } = log
  const endSeq = from.seq + count
  const until = endSeq < end.seq ? findLine(log, endSeq, from, end) : end
  const bytes = withReadErrors(path, () => readBytes(fd, from.offset, until.offset))
  return entriesIn(bytes, { file: path, first: from.seq, base: log.first - 1 })
}

/** Reads all lines if a damaged one misled a search: the error then names the first one that is damaged. */
export function withExactErrors<T>(log: OpenLogPart, search: () => T): T {
  try {
    return search()
  } catch (error) {
    if (error instanceof StoreError && error.code === 'corrupt') {
      const bytes = withReadErrors(log.path, () => readBytes(log.fd, 0, log.end?.offset))
      entriesIn(bytes.subarray(0, log.end?.offset ?? completeEnd(bytes)), {
        file: log.path,
        first: log.first,
        base: log.first - 1,
      })
    }
    throw error
  }
}

function seqIn(line: Uint8Array, { path, first }: OpenLogPart): number {
  const seq = parsedSeq(line)
  if (typeof seq === 'number' && seq >= first) return seq
  throw corrupt(path, 1, 'or a later line is not an entry')
}

function parsedSeq(line: Uint8Array): unknown {
  try {
    return (JSON.parse(line.toString()) as { readonly seq?: unknown } | null)?.seq
  } catch {
    return undefined
  }
}

function misplaced({ path }: OpenLogPart, { seq }: LinePosition): StoreError {
  return corrupt(path, 1, `or a later line is out of order, with entry ${seq}`)
}
