import * as fs from 'node:fs'
import { StoreError } from '../../core/errors.ts'
import type { LogEntry } from '../../core/log.ts'
import type { EntryRange } from '../../core/store.ts'
import { sleep } from '../../core/waiting.ts'
import { openPart, type PlacedPart, partsOf, sharedEntries } from './base-parts.ts'
import { withReadErrors } from './file-errors.ts'
import { fileIdentityAt } from './files.ts'
import { logPath, openLogForReading } from './log-file.ts'
import { findEnd, findLine, type LinePosition, type OpenLogPart, readLines, withExactErrors } from './log-positions.ts'

/** How far a log was read, so that later reads begin there. */
export interface ReadPosition {
  /** Identifies the file. */
  readonly file: string
  /** What a fork shares. */
  readonly parts: readonly PlacedPart[]
  readonly next: LinePosition
}

interface LogReading {
  readonly entries: readonly LogEntry[]
  readonly end?: ReadPosition
}

/** Reads a range of entries, and nothing else. Changes nothing: a partial write at the end is skipped, not truncated. */
export async function readLog(folder: string, range: EntryRange, lastPosition?: ReadPosition): Promise<LogReading> {
  for (let tries = 1; ; tries++) {
    const open = openLogForReading(folder)
    if (!open) return { entries: [] }
    try {
      const result = readOpen(folder, open, range, lastPosition)
      // If the log was replaced meanwhile, the old file may contain entries that were never acknowledged. Retry until the
      // copy is in place. If none appears, the process that moved the log has died, and the moved file is the log.
      if (isStillThere(open.fd, logPath(folder)) || tries >= maxTries) return result
    } finally {
      fs.closeSync(open.fd)
    }
    await sleep(5)
  }
}

const maxTries = 100

function isStillThere(fd: number, path: string): boolean {
  const { dev, ino } = withReadErrors(path, () => fs.fstatSync(fd, { bigint: true }))
  const now = fileIdentityAt(path)
  return now?.ino === ino && now.dev === dev
}

function readOpen(
  folder: string,
  open: Pick<OpenLogPart, 'fd' | 'path'>,
  range: EntryRange,
  lastPosition: ReadPosition | undefined,
): LogReading {
  const file = fileKey(open)
  if (lastPosition?.file === file) {
    try {
      return readRange(open, range, lastPosition, lastPosition.next)
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'corrupt') throw error
    }
  }
  return readRange(open, range, { file, parts: partsOf(folder) }, undefined)
}

function readRange(
  { fd, path }: Pick<OpenLogPart, 'fd' | 'path'>,
  range: EntryRange,
  { file, parts }: Pick<ReadPosition, 'file' | 'parts'>,
  known: LinePosition | undefined,
): LogReading {
  const log: OpenLogPart = { fd, path, first: sharedEntries(parts) + 1 }
  const next = withExactErrors(log, () => endOf(log, known))
  const end = { file, parts, next }
  if (next.offset === 0) return { entries: [], end } // without an entry of its own, a fork has no shared entries either
  const span = spanOf(range, next.seq - 1)
  const own = linesWithin({ ...log, end: next }, span, known)
  return { entries: parts.length > 0 ? [...sharedWithin(parts, span), ...own] : own, end }
}

function endOf(log: OpenLogPart, known: LinePosition | undefined): LinePosition {
  const { size } = withReadErrors(log.path, () => fs.fstatSync(log.fd))
  return known?.offset === size ? known : findEnd(log)
}

/** The entries from `from` to before `until`. */
interface Span {
  readonly from: number
  readonly until: number
}

function sharedWithin(parts: readonly PlacedPart[], { from, until }: Span): LogEntry[] {
  return parts.flatMap((part) => {
    if (from >= part.first + part.entries || until <= part.first) return []
    const lines = openPart(part)
    try {
      return linesWithin(lines, { from, until })
    } finally {
      fs.closeSync(lines.fd)
    }
  })
}

function linesWithin(log: OpenLogPart, { from, until }: Span, known?: LinePosition): LogEntry[] {
  const [first, end] = [Math.max(from, log.first), log.end!]
  const count = Math.min(until, end.seq) - first
  if (count <= 0) return []
  const start = { seq: log.first, offset: 0 }
  const [low, high] = known && known.seq <= first ? [known, end] : [start, known ?? end]
  return withExactErrors(log, () => readLines(log, findLine(log, first, low, high), count, end))
}

/** The entries of a range in a log of `head` entries. */
function spanOf(
  { after = 0, before, limit = Number.POSITIVE_INFINITY, fromEnd = false }: EntryRange,
  head: number,
): Span {
  const from = Math.max(1, after + 1)
  const until = Math.min(head + 1, before ?? Number.POSITIVE_INFINITY)
  return fromEnd ? { from: Math.max(from, until - limit), until } : { from, until: Math.min(until, from + limit) }
}

/** Identifies a file over time: inodes are reused, so the time of creation is part of it. */
function fileKey({ fd, path }: Pick<OpenLogPart, 'fd' | 'path'>): string {
  const { dev, ino, birthtimeNs } = withReadErrors(path, () => fs.fstatSync(fd, { bigint: true }))
  return `${dev} ${ino} ${birthtimeNs}`
}
