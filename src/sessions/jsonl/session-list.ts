import * as fs from 'node:fs'
import { join } from 'node:path'
import { StoreError } from '../../core/errors.ts'
import type { LogEntry } from '../../core/log.ts'
import type { SessionInfo } from '../../core/store.ts'
import { looking } from './file-faults.ts'
import { inboxPath } from './inbox-file.ts'
import { openLogForReading } from './log-file.ts'
import { completeEnd, countLines, lineStart } from './log-lines.ts'
import { sessionIn } from './session-folder.ts'
import { bytesOf, namesIn } from './small-files.ts'

/** Every session of the store. Of a log only the first and the last line are read. */
export async function listSessions(dir: string): Promise<SessionInfo[]> {
  const sessions: SessionInfo[] = []
  for (const [i, name] of namesIn(dir).entries()) {
    if (i % atOnce === atOnce - 1) await new Promise((resolve) => setImmediate(resolve))
    const session = infoOf(join(dir, name), name)
    if (session) sessions.push(session)
  }
  return sessions
}

/** After so many sessions others get their turn. */
const atOnce = 100

function infoOf(folder: string, name: string): SessionInfo | undefined {
  if (name.includes('.')) return undefined
  if (looking(folder, () => fs.lstatSync(folder, { throwIfNoEntry: false }))?.isDirectory() !== true) return undefined
  const session = sessionIn(folder, name)
  const log = session && extentOf(folder)
  if (!log) return undefined
  // A child comes into being with its first entry; its folder may be older.
  if (session.parent !== undefined && log.head === 0) return undefined
  return { id: session.id, ...log, ...(session.parent !== undefined && { parent: session.parent }) }
}

type Extent = Omit<SessionInfo, 'id' | 'parent'>

function extentOf(folder: string): Extent | undefined {
  const open = openLogForReading(folder)
  if (!open) return fs.existsSync(inboxPath(folder)) ? { head: 0 } : undefined
  const { path, fd } = open
  try {
    const last = lastLine(fd, path)
    if (!last) return { head: 0 }
    const { seq, at } = JSON.parse(last) as LogEntry
    return { head: seq, createdAt: (JSON.parse(firstLine(fd, path)) as LogEntry).at, updatedAt: at }
  } catch (error) {
    if (error instanceof StoreError && error.code !== 'corrupt') throw error
    // One that cannot be read is still there; reading it says what is wrong.
    return { head: looking(path, () => countLines(bytesOf(fd))) }
  } finally {
    fs.closeSync(fd)
  }
}

const chunk = 16 * 1024

/** The last line of the last complete batch, looked for from the end on. */
function lastLine(fd: number, path: string): string | undefined {
  return looking(path, () => {
    const { size } = fs.fstatSync(fd)
    for (let length = chunk; ; length *= 4) {
      const start = Math.max(0, size - length)
      const bytes = bytesOf(fd, start, size)
      const end = completeEnd(bytes)
      const from = lineStart(bytes, end)
      // A line that starts where the piece does may have started before.
      if (end > 0 && (from > 0 || start === 0)) return bytes.toString('utf8', from, end)
      if (start === 0) return undefined
    }
  })
}

function firstLine(fd: number, path: string): string {
  return looking(path, () => {
    const { size } = fs.fstatSync(fd)
    for (let length = chunk; ; length *= 4) {
      const bytes = bytesOf(fd, 0, Math.min(size, length))
      const end = bytes.indexOf(10)
      if (end >= 0 || length >= size) return bytes.toString('utf8', 0, Math.max(0, end))
    }
  })
}
