import * as fs from 'node:fs'
import { join } from 'node:path'
import { StoreError } from '../../core/errors.ts'
import { failpoint, type LogEntry } from '../../core/log.ts'
import {
  type FileIdentity,
  fileIdentityAt,
  openForAppending,
  openForReading,
  readBytes,
  refuseLink,
  syncFolder,
  withReadErrors,
  withWriteErrors,
} from './files.ts'
import { completeEnd, countLines, entriesIn, entryIn, lineStart, linesOf } from './log-lines.ts'

/**
 * The log of a session, held open by its one writer. The file itself fences off a writer that lost its lease:
 *
 * - Takeover: the new process moves the file aside and puts a copy in its place (`replaceLog`). What the old writer
 *   appends later goes to the moved file, which is never read.
 * - Append, without a lock: write, then compare the inode of the path with that of the open file. If they are the same,
 *   every later copy contains the entries, so they are acknowledged. If they differ, the lease is lost; the entries may
 *   be in the copy all the same, as after a crash, and the new writer reads them before it writes.
 */
export interface LogFile {
  readonly path: string
  readonly fd: number
  readonly identity: FileIdentity
  head: number
  size: number
  /** When the path was last checked to be this file. */
  checkedAt: number
  /** A partial write could not be truncated yet. */
  hasPartialWrite: boolean
}

export const logPath = (folder: string): string => join(folder, 'log.jsonl')
/** The old log, moved aside while its copy is made. */
const movedPath = (folder: string): string => join(folder, 'log.taken.jsonl')

/** Opens a log for writing. Nothing changes before `repairEnd`. */
export function openLog(folder: string): LogFile {
  const path = logPath(folder)
  const fd = openForAppending(path)
  const { dev, ino } = withReadErrors(path, () => fs.fstatSync(fd, { bigint: true }))
  return { path, fd, identity: { dev, ino }, head: 0, size: 0, checkedAt: 0, hasPartialWrite: false }
}

/** Finds the end of the log, and truncates a partial write of a crashed writer. Only the holder of the lease may do that. */
export function repairEnd(log: LogFile): void {
  const bytes = withReadErrors(log.path, () => readBytes(log.fd))
  const end = completeEnd(bytes)
  const complete = bytes.subarray(0, end)
  log.head = countLines(complete)
  log.size = end
  if (end > 0) checkLast(complete, log)
  if (end < bytes.length) truncate(log)
}

/** Whether the file at the path is still the one that is open. */
export function isCurrent({ path, identity }: LogFile): boolean {
  const now = fileIdentityAt(path)
  return now?.ino === identity.ino && now.dev === identity.dev
}

/** Appends entries; with `sync` they are on the disk when this returns. If it fails, they are truncated again. */
export function appendTo(log: LogFile, entries: readonly LogEntry[], { sync }: { sync: boolean }): void {
  const bytes = Buffer.from(linesOf(entries))
  if (log.hasPartialWrite) truncate(log)
  withWriteErrors(log.path, () => {
    try {
      failpoint('jsonl.append.beforeWrite', entries)
      for (let done = 0; done < bytes.length; ) done += fs.writeSync(log.fd, bytes, done)
      failpoint('jsonl.append.afterWrite', entries)
      if (sync) fs.fdatasyncSync(log.fd)
      failpoint('jsonl.append.afterSync', entries)
    } catch (error) {
      log.hasPartialWrite = true
      try {
        truncate(log)
      } catch {} // the next append tries again
      throw error
    }
  })
  log.head += entries.length
  log.size += bytes.length
}

/** The entries of the open log, for comparison. */
export function entriesOf({ path, fd, size }: LogFile): LogEntry[] {
  return entriesIn(
    withReadErrors(path, () => readBytes(fd, 0, size)),
    { file: path, first: 1 },
  )
}

/**
 * Replaces the log by a copy, so that a process that holds the old file open no longer writes to what others read. The log
 * is moved aside first, so that the copy contains everything acknowledged until then. The moved file stays until
 * `finishReplacing`: its presence forbids writing. It may be interrupted anywhere and repeated. A repetition always
 * copies again: a late writer may have created an empty file at the path. Requires the lock of the folder.
 */
export function replaceLog(folder: string): void {
  const [path, moved] = [logPath(folder), movedPath(folder)]
  refuseLink(path)
  refuseLink(moved)
  withWriteErrors(path, () => {
    if (!fs.existsSync(moved) && fs.existsSync(path)) fs.renameSync(path, moved)
    if (fs.existsSync(moved)) copyLog(moved, path)
  })
}

/** Removes the moved file, once its copy is on the disk and everything else is done. */
export function finishReplacing(folder: string): void {
  if (!isBeingReplaced(folder)) return
  withWriteErrors(logPath(folder), () => {
    syncFolder(folder)
    fs.rmSync(movedPath(folder), { force: true })
    syncFolder(folder)
  })
}

/** For callers that opened a log without the lock of its folder: the log may be about to be replaced. */
export function refuseBeingReplaced(folder: string): void {
  if (isBeingReplaced(folder)) throw new StoreError('busy', `${folder} is being taken over; try again`)
}

function copyLog(moved: string, path: string): void {
  failpoint('jsonl.takeover.beforeCopy')
  const copy = `${path}.copy`
  fs.rmSync(copy, { force: true })
  fs.copyFileSync(moved, copy, fs.constants.COPYFILE_EXCL | fs.constants.COPYFILE_FICLONE)
  const fd = fs.openSync(copy, 'r+')
  try {
    fs.fchmodSync(fd, 0o600)
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
  failpoint('jsonl.takeover.beforeRename')
  fs.renameSync(copy, path)
}

/** Whether a replacement is unfinished. */
export const isBeingReplaced = (folder: string): boolean => fs.existsSync(movedPath(folder))

/** Opens a log for reading: the moved file if its copy is not in place yet. */
export function openLogForReading(folder: string): { path: string; fd: number } | undefined {
  for (const path of [logPath(folder), movedPath(folder), logPath(folder)]) {
    const fd = openForReading(path)
    if (fd !== undefined) return { path, fd }
  }
  return undefined
}

function truncate(log: LogFile): void {
  withWriteErrors(log.path, () => fs.ftruncateSync(log.fd, log.size))
  log.hasPartialWrite = false
}

/** The number of the last entry must be that of its line; if not, a full read finds the wrong line. */
function checkLast(complete: Buffer, { path, head }: LogFile): void {
  const start = lineStart(complete, complete.length)
  try {
    entryIn(complete.subarray(start, complete.length - 1), path, head)
  } catch (error) {
    entriesIn(complete, { file: path, first: 1 })
    throw error
  }
}
