import * as fs from 'node:fs'
import { join } from 'node:path'
import { StoreError } from '../../core/errors.ts'
import type { LogEntry } from '../../core/log.ts'
import { failpoint } from '../../core/log.ts'
import { changing, looking } from './file-faults.ts'
import { completeEnd, countLines, entriesIn, entryIn, lineStart, linesOf } from './log-lines.ts'
import {
  bytesOf,
  type FilePlace,
  openForAppending,
  openForReading,
  placeOf,
  refuseLink,
  syncFolder,
} from './small-files.ts'

/**
 * The log of a session, held open by its one writer.
 *
 * The fence is the file itself. Who takes a session from a writer that may still live does not go on with its file: he
 * moves it aside and puts a copy in its place (`replaceLog`). The old writer still holds the file that was moved, and
 * whatever it writes, whenever it wakes up, goes to a file that nobody reads. So there is no moment between looking and
 * writing at which a rival could slip in, and nothing has to be locked for an append: after the write it is enough to
 * see that the file at the path is still the one that is held open. If it is, the copy of any later taker holds what
 * was written, and the append may be acknowledged. If not, the lease is lost. (What was written just before the file
 * was moved is in the copy although its writer is told that it lost the lease: as after a crash, the new writer reads
 * it before he writes.) A file that is held open keeps its number, so no other can be mistaken for it.
 */
export interface LogFile {
  readonly path: string
  readonly fd: number
  readonly place: FilePlace
  head: number
  size: number
  /** When it was last seen to be in its place. */
  seenAt: number
  /** Something half written could not be cut off yet. */
  isRagged: boolean
}

export const logPath = (folder: string): string => join(folder, 'log.jsonl')
const takenPath = (folder: string): string => join(folder, 'log.taken.jsonl')

/** Opens a log for writing. Nothing is changed before `settleLog`. */
export function openLog(folder: string): LogFile {
  const path = logPath(folder)
  const fd = openForAppending(path)
  const { dev, ino } = looking(path, () => fs.fstatSync(fd, { bigint: true }))
  return { path, fd, place: { dev, ino }, head: 0, size: 0, seenAt: 0, isRagged: false }
}

/** Finds where the log ends, and cuts off what a crash left half written. Only its writer may do that. */
export function settleLog(log: LogFile): void {
  const bytes = looking(log.path, () => bytesOf(log.fd))
  const end = completeEnd(bytes)
  const complete = bytes.subarray(0, end)
  log.head = countLines(complete)
  log.size = end
  if (end > 0) checkLast(complete, log)
  if (end < bytes.length) cut(log)
}

/** Whether the file at its path is still the one that is held open. */
export function isInPlace({ path, place }: LogFile): boolean {
  const now = placeOf(path)
  return now?.ino === place.ino && now.dev === place.dev
}

/** Writes entries behind what is there. Durable when it returns, and cut off again if it fails. */
export function appendTo(log: LogFile, entries: readonly LogEntry[], { sync }: { sync: boolean }): void {
  const bytes = Buffer.from(linesOf(entries))
  if (log.isRagged) cut(log)
  changing(log.path, () => {
    try {
      failpoint('jsonl.append.beforeWrite', entries)
      for (let done = 0; done < bytes.length; ) done += fs.writeSync(log.fd, bytes, done)
      failpoint('jsonl.append.afterWrite', entries)
      if (sync) fs.fdatasyncSync(log.fd)
      failpoint('jsonl.append.afterSync', entries)
    } catch (error) {
      log.isRagged = true
      try {
        cut(log)
      } catch {} // the next append tries again
      throw error
    }
  })
  log.head += entries.length
  log.size += bytes.length
}

/** The entries of the log that is held open, for comparison. */
export function entriesOf({ path, fd, size }: LogFile): LogEntry[] {
  return entriesIn(
    looking(path, () => bytesOf(fd, 0, size)),
    { file: path, first: 1 },
  )
}

/**
 * Puts a copy in the place of the log, so that whoever holds it open no longer writes to what others read. It is moved
 * aside first: what its old writer got acknowledged until then is in the copy, and nothing can be added in between.
 * The file that was moved stays until `finishReplacing`: its presence says that nobody may write yet. May be cut off
 * anywhere and done again; the copy is then made anew, for what lies in its place may be an empty file that a late
 * writer made. Under the lock of the folder.
 */
export function replaceLog(folder: string): void {
  const [path, taken] = [logPath(folder), takenPath(folder)]
  refuseLink(path)
  refuseLink(taken)
  changing(path, () => {
    if (!fs.existsSync(taken) && fs.existsSync(path)) fs.renameSync(path, taken)
    if (fs.existsSync(taken)) copyLog(taken, path)
  })
}

/** Does away with the file that was moved aside, when its copy is on the disk and nothing else is left to do. */
export function finishReplacing(folder: string): void {
  if (!isBeingReplaced(folder)) return
  changing(logPath(folder), () => {
    syncFolder(folder)
    fs.rmSync(takenPath(folder), { force: true })
    syncFolder(folder)
  })
}

/** For whoever opened a log without the lock of its folder: what he holds may be about to be replaced. */
export function refuseReplaced(folder: string): void {
  if (isBeingReplaced(folder)) throw new StoreError('busy', `${folder} is being taken over; try again`)
}

function copyLog(taken: string, path: string): void {
  failpoint('jsonl.takeover.beforeCopy')
  const copy = `${path}.copy`
  fs.rmSync(copy, { force: true })
  fs.copyFileSync(taken, copy, fs.constants.COPYFILE_EXCL | fs.constants.COPYFILE_FICLONE)
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

/** Whether a replacement was begun and not finished. */
export const isBeingReplaced = (folder: string): boolean => fs.existsSync(takenPath(folder))

/** Opens a log for reading: the one that was moved aside where no copy has taken its place yet. */
export function openLogForReading(folder: string): { path: string; fd: number } | undefined {
  for (const path of [logPath(folder), takenPath(folder), logPath(folder)]) {
    const fd = openForReading(path)
    if (fd !== undefined) return { path, fd }
  }
  return undefined
}

function cut(log: LogFile): void {
  changing(log.path, () => fs.ftruncateSync(log.fd, log.size))
  log.isRagged = false
}

/** The number of the last entry must be that of its line; if not, a full read says which line is wrong. */
function checkLast(complete: Buffer, { path, head }: LogFile): void {
  const start = lineStart(complete, complete.length)
  try {
    entryIn(complete.subarray(start, complete.length - 1), path, head)
  } catch (error) {
    entriesIn(complete, { file: path, first: 1 })
    throw error
  }
}
