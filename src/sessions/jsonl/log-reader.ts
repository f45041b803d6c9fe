import * as fs from 'node:fs'
import { statSync } from 'node:fs'
import { StoreError } from '../../core/errors.ts'
import type { InboxItem, LogEntry } from '../../core/log.ts'
import type { StoreChange } from '../../core/store.ts'
import { fileIdentityAt, readBytes, reading, refuseLink } from './files.ts'
import { inboxPath, waitingMessages } from './inbox-file.ts'
import { logPath, openLogForReading } from './log-file.ts'
import { completeEnd, countLines, entriesIn } from './log-lines.ts'

/** How far a log was read, so that only later lines are read again. */
export interface KnownEnd {
  readonly file: string
  readonly seq: number
  readonly offset: number
}

interface LogReading {
  readonly entries: readonly LogEntry[]
  readonly end?: KnownEnd
}

/** Reads the entries after a number. Changes nothing: a partial write at the end is skipped, not truncated. */
export async function readLog(folder: string, after: number, known?: KnownEnd): Promise<LogReading> {
  for (let tries = 1; ; tries++) {
    const open = openLogForReading(folder)
    if (!open) return { entries: [] }
    const { path, fd } = open
    try {
      const reading = readOpen(fd, path, after, known)
      // If the log was replaced meanwhile, the old file may contain entries that were never acknowledged. A moved file is
      // the log only if no copy appears, because the process that moved it has died.
      if (isStillThere(fd, logPath(folder)) || tries >= mostTries) return reading
    } finally {
      fs.closeSync(fd)
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const mostTries = 100

function isStillThere(fd: number, path: string): boolean {
  const { dev, ino } = reading(path, () => fs.fstatSync(fd, { bigint: true }))
  const now = fileIdentityAt(path)
  return now?.ino === ino && now.dev === dev
}

function readOpen(fd: number, path: string, after: number, known: KnownEnd | undefined): LogReading {
  const file = fileName(fd, path)
  if (known && known.file === file && known.seq <= after) {
    try {
      const reading = readFollowing(fd, path, after, known)
      if (reading) return reading
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'corrupt') throw error
    }
  }
  return readFollowing(fd, path, after, { file, seq: 0, offset: 0 }) ?? { entries: [] }
}

/** Undefined if the file does not continue where it ended before. */
function readFollowing(fd: number, path: string, after: number, from: KnownEnd): LogReading | undefined {
  const { size } = reading(path, () => fs.fstatSync(fd))
  if (size < from.offset) return undefined
  if (size === from.offset) return { entries: [], end: from }
  const overlap = Math.min(1, from.offset) // the previous byte, to check that it ends a line
  const bytes = reading(path, () => readBytes(fd, from.offset - overlap, size))
  if (overlap === 1 && bytes[0] !== 10) return undefined
  const following = bytes.subarray(overlap)
  const complete = following.subarray(0, completeEnd(following))
  const entries = entriesIn(complete, { file: path, first: from.seq + 1, skip: Math.max(0, after - from.seq) })
  const seq = entries.at(-1)?.seq ?? from.seq + countLines(complete)
  return { entries, end: { ...from, seq, offset: from.offset + complete.length } }
}

/** Inodes are used again, so the time of creation is part of it. */
function fileName(fd: number, path: string): string {
  const { dev, ino, birthtimeNs } = reading(path, () => fs.fstatSync(fd, { bigint: true }))
  return `${dev} ${ino} ${birthtimeNs}`
}

/** Reads a session for a watcher. Files that have not changed since the last call are not opened. */
export function createPeek(
  folder: string,
  read: (after: number) => Promise<readonly LogEntry[]>,
): (after: number) => Promise<StoreChange | undefined> {
  let lastLog: string | undefined
  let lastInbox: string | undefined
  let inbox: readonly InboxItem[] = []
  return async (after) => {
    const [log, messages] = [stampOf(logPath(folder)), stampOf(inboxPath(folder))]
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

function stampOf(path: string): string {
  const found = reading(path, () => statSync(path, { bigint: true, throwIfNoEntry: false }))
  return found ? `${found.ino} ${found.size} ${found.mtimeNs}` : ''
}
