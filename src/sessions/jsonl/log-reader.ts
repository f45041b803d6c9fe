import * as fs from 'node:fs'
import { statSync } from 'node:fs'
import { StoreError } from '../../core/errors.ts'
import type { InboxItem, LogEntry } from '../../core/log.ts'
import type { StoreChange } from '../../core/store.ts'
import { fileIdentityAt, readBytes, refuseLink, withReadErrors } from './files.ts'
import { inboxPath, waitingMessages } from './inbox-file.ts'
import { logPath, openLogForReading } from './log-file.ts'
import { completeEnd, countLines, entriesIn } from './log-lines.ts'

/** How far a log was read, so that only later lines are read again. */
export interface ReadPosition {
  readonly file: string
  readonly seq: number
  readonly offset: number
}

interface LogReading {
  readonly entries: readonly LogEntry[]
  readonly end?: ReadPosition
}

/** Reads the entries after a number. Changes nothing: a partial write at the end is skipped, not truncated. */
export async function readLog(folder: string, after: number, lastPosition?: ReadPosition): Promise<LogReading> {
  for (let tries = 1; ; tries++) {
    const open = openLogForReading(folder)
    if (!open) return { entries: [] }
    const { path, fd } = open
    try {
      const result = readOpen(fd, path, after, lastPosition)
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

function readOpen(fd: number, path: string, after: number, lastPosition: ReadPosition | undefined): LogReading {
  const file = fileKey(fd, path)
  if (lastPosition && lastPosition.file === file && lastPosition.seq <= after) {
    try {
      const result = readFollowing(fd, path, after, lastPosition)
      if (result) return result
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'corrupt') throw error
    }
  }
  return readFollowing(fd, path, after, { file, seq: 0, offset: 0 }) ?? { entries: [] }
}

/** Undefined if the file does not continue where it ended before. */
function readFollowing(fd: number, path: string, after: number, from: ReadPosition): LogReading | undefined {
  const { size } = withReadErrors(path, () => fs.fstatSync(fd))
  if (size < from.offset) return undefined
  if (size === from.offset) return { entries: [], end: from }
  const overlap = Math.min(1, from.offset) // the previous byte, to check that it ends a line
  const bytes = withReadErrors(path, () => readBytes(fd, from.offset - overlap, size))
  if (overlap === 1 && bytes[0] !== 10) return undefined
  const following = bytes.subarray(overlap)
  const complete = following.subarray(0, completeEnd(following))
  const entries = entriesIn(complete, { file: path, first: from.seq + 1, skip: Math.max(0, after - from.seq) })
  const seq = entries.at(-1)?.seq ?? from.seq + countLines(complete)
  return { entries, end: { ...from, seq, offset: from.offset + complete.length } }
}

/** Identifies a file over time: inodes are reused, so the time of creation is part of it. */
function fileKey(fd: number, path: string): string {
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
