import * as fs from 'node:fs'
import { statSync } from 'node:fs'
import { StoreError } from '../../core/errors.ts'
import type { InboxItem, LogEntry } from '../../core/log.ts'
import type { EntryRange, StoreChange } from '../../core/store.ts'
import { withReadErrors } from './file-errors.ts'
import { fileIdentityAt, refuseLink } from './files.ts'
import { inboxPath, waitingMessages } from './inbox-file.ts'
import { logPath, openLogForReading } from './log-file.ts'
import { findEnd, findLine, type LinePosition, type OpenLines, readLines, withExactErrors } from './log-positions.ts'

/** How far a log was read, so that later reads begin there. */
export interface ReadPosition {
  /** Identifies the file. */
  readonly file: string
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
    const { path, fd } = open
    try {
      const result = readOpen({ fd, path, first: 1 }, range, lastPosition)
      // If the log was replaced meanwhile, the old file may contain entries that were never acknowledged. Retry until the
      // copy is in place. If none appears, the process that moved the log has died, and the moved file is the log.
      if (isStillThere(fd, logPath(folder)) || tries >= maxTries) return result
    } finally {
      fs.closeSync(fd)
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const maxTries = 100

function isStillThere(fd: number, path: string): boolean {
  const { dev, ino } = withReadErrors(path, () => fs.fstatSync(fd, { bigint: true }))
  const now = fileIdentityAt(path)
  return now?.ino === ino && now.dev === dev
}

function readOpen(log: OpenLines, range: EntryRange, lastPosition: ReadPosition | undefined): LogReading {
  const file = fileKey(log)
  if (lastPosition?.file === file) {
    try {
      return readRange(log, file, range, lastPosition.next)
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'corrupt') throw error
    }
  }
  return withExactErrors(log, () => readRange(log, file, range, undefined))
}

function readRange(log: OpenLines, file: string, range: EntryRange, known: LinePosition | undefined): LogReading {
  const next = endOf(log, known)
  const { from, count } = windowOf(range, next.seq - 1)
  if (count <= 0) return { entries: [], end: { file, next } }
  const start = { seq: log.first, offset: 0 }
  const [low, high] = known && known.seq <= from ? [known, next] : [start, known ?? next]
  return { entries: readLines(log, findLine(log, from, low, high), count, next), end: { file, next } }
}

function endOf(log: OpenLines, known: LinePosition | undefined): LinePosition {
  const { size } = withReadErrors(log.path, () => fs.fstatSync(log.fd))
  return known?.offset === size ? known : findEnd(log)
}

/** The first entry of a range in a log of `head` entries, and their number. */
function windowOf({ after = 0, before, limit, fromEnd = false }: EntryRange, head: number) {
  const from = Math.max(1, after + 1)
  const until = before === undefined ? head + 1 : Math.min(head + 1, before)
  const count = limit === undefined ? until - from : Math.min(limit, until - from)
  return { from: fromEnd ? until - count : from, count }
}

/** Identifies a file over time: inodes are reused, so the time of creation is part of it. */
function fileKey({ fd, path }: OpenLines): string {
  const { dev, ino, birthtimeNs } = withReadErrors(path, () => fs.fstatSync(fd, { bigint: true }))
  return `${dev} ${ino} ${birthtimeNs}`
}

/** Reads a session for a watcher. Files that have not changed since the last call are not opened. */
export function createPoller(
  folder: string,
  read: (after: number) => Promise<readonly LogEntry[]>,
): (after: number) => Promise<StoreChange | undefined> {
  let lastLog: string | undefined
  let lastInbox: string | undefined
  let inbox: readonly InboxItem[] = []
  return async (after) => {
    const [log, messages] = [changeStamp(logPath(folder)), changeStamp(inboxPath(folder))]
    if (log === lastLog && messages === lastInbox) return undefined
    refuseLink(folder)
    const entries = log === lastLog ? [] : await read(after)
    // After the log, so that a message that was delivered meanwhile is recognized.
    if (messages !== lastInbox || inbox.length > 0) inbox = waitingMessages(folder)
    lastLog = log
    lastInbox = messages
    return { entries, inbox }
  }
}

/** Differs after the file has changed; empty if it is missing. */
function changeStamp(path: string): string {
  const info = withReadErrors(path, () => statSync(path, { bigint: true, throwIfNoEntry: false }))
  return info ? `${info.ino} ${info.size} ${info.mtimeNs}` : ''
}
