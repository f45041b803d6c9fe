import * as fs from 'node:fs'
import { copyFile, open } from 'node:fs/promises'
import { join } from 'node:path'
import { StoreError } from '../../core/errors.ts'
import { failpoint } from '../../core/log.ts'
import { syncFolder } from '../../platform/files.ts'
import { withWriteErrors } from './file-errors.ts'
import { openForReading, refuseLink } from './files.ts'

/**
 * The log of a session is a file with one writer (`LogWriter`). The file itself fences off a writer that lost its lease:
 *
 * - Takeover: the new process moves the file aside and puts a copy in its place (`replaceLog`). What the old writer
 *   appends later goes to the moved file, which is never read.
 * - Append, without a lock: write, then compare the inode of the path with that of the open file. If they are the same,
 *   every later copy contains the entries, so they are acknowledged. If they differ, the lease is lost; the entries may
 *   be in the copy all the same, as after a crash, and the new writer reads them before it writes.
 */
export const logPath = (folder: string): string => join(folder, 'log.jsonl')
/** The old log, moved aside while its copy is made. */
export const movedPath = (folder: string): string => join(folder, 'log.taken.jsonl')

/**
 * Replaces the log by a copy, so that a process that holds the old file open no longer writes to what others read. The log
 * is moved aside first, so that the copy contains everything acknowledged until then. The moved file stays until
 * `finishReplacing`: its presence forbids writing. It may be interrupted anywhere and repeated. A repetition always
 * copies again: a late writer may have created an empty file at the path. Requires the lock of the folder.
 */
export async function replaceLog(folder: string): Promise<void> {
  const [path, moved] = [logPath(folder), movedPath(folder)]
  refuseLink(path)
  refuseLink(moved)
  await withWriteErrors(path, async () => {
    if (!fs.existsSync(moved) && fs.existsSync(path)) fs.renameSync(path, moved)
    if (fs.existsSync(moved)) await copyLog(moved, path)
  })
}

/** Removes the moved file, once its copy is on the disk and everything else is done. */
export async function finishReplacing(folder: string): Promise<void> {
  if (!isBeingReplaced(folder)) return
  await withWriteErrors(logPath(folder), async () => {
    await syncFolder(folder)
    fs.rmSync(movedPath(folder), { force: true })
    await syncFolder(folder)
  })
}

/** For callers that opened a log without the lock of its folder: the log may be about to be replaced. */
export function refuseBeingReplaced(folder: string): void {
  if (isBeingReplaced(folder)) throw new StoreError('busy', `${folder} is being taken over; try again`)
}

async function copyLog(moved: string, path: string): Promise<void> {
  failpoint('jsonl.takeover.beforeCopy')
  const copy = `${path}.copy`
  fs.rmSync(copy, { force: true })
  await copyFile(moved, copy, fs.constants.COPYFILE_EXCL | fs.constants.COPYFILE_FICLONE)
  const file = await open(copy, 'r+')
  try {
    await file.chmod(0o600)
    await file.sync()
  } finally {
    await file.close()
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
