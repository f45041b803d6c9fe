import * as fs from 'node:fs'
import { StoreError } from '../../core/errors.ts'
import type { LogEntry } from '../../core/log.ts'
import { looking } from './file-faults.ts'
import { logPath, openLogForReading } from './log-file.ts'
import { completeEnd, countLines, entriesIn } from './log-lines.ts'
import { bytesOf, placeOf } from './small-files.ts'

/** How far a log is known, so that only what came since has to be read. */
export interface KnownEnd {
  readonly file: string
  readonly seq: number
  readonly offset: number
}

export interface LogReading {
  readonly entries: readonly LogEntry[]
  readonly end?: KnownEnd
}

/** The entries after a number. Never changes anything: a tail that was cut off is passed over, not cut. */
export async function readLog(folder: string, after: number, known?: KnownEnd): Promise<LogReading> {
  for (let tries = 1; ; tries++) {
    const open = openLogForReading(folder)
    if (!open) return { entries: [] }
    const { path, fd } = open
    try {
      const reading = readOpen(fd, path, after, known)
      // A log that was replaced while it was read may have grown by what its old writer never got acknowledged. And one
      // that was moved aside is the log only if no copy comes, because whoever moved it has died.
      if (isStillThere(fd, logPath(folder)) || tries >= mostTries) return reading
    } finally {
      fs.closeSync(fd)
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const mostTries = 100

function isStillThere(fd: number, path: string): boolean {
  const { dev, ino } = looking(path, () => fs.fstatSync(fd, { bigint: true }))
  const now = placeOf(path)
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

/** Undefined when the file does not go on where it ended before. */
function readFollowing(fd: number, path: string, after: number, from: KnownEnd): LogReading | undefined {
  const { size } = looking(path, () => fs.fstatSync(fd))
  if (size < from.offset) return undefined
  if (size === from.offset) return { entries: [], end: from }
  const overlap = Math.min(1, from.offset) // the end of the line before, to see that it is one
  const bytes = looking(path, () => bytesOf(fd, from.offset - overlap, size))
  if (overlap === 1 && bytes[0] !== 10) return undefined
  const following = bytes.subarray(overlap)
  const complete = following.subarray(0, completeEnd(following))
  const entries = entriesIn(complete, { file: path, first: from.seq + 1, skip: Math.max(0, after - from.seq) })
  const seq = entries.at(-1)?.seq ?? from.seq + countLines(complete)
  return { entries, end: { ...from, seq, offset: from.offset + complete.length } }
}

/** Numbers of files are used again, so the time of birth belongs to it. */
function fileName(fd: number, path: string): string {
  const { dev, ino, birthtimeNs } = looking(path, () => fs.fstatSync(fd, { bigint: true }))
  return `${dev} ${ino} ${birthtimeNs}`
}
