import * as fs from 'node:fs'
import { join } from 'node:path'
import { StoreError } from '../../core/errors.ts'
import type { LogEntry } from '../../core/log.ts'
import { namesIn, readBytes, withReadErrors } from './files.ts'
import { inboxPath } from './inbox-file.ts'
import { openLogForReading } from './log-file.ts'
import { completeEnd, countLines, lineStart } from './log-lines.ts'
import { sessionIn } from './session-folder.ts'

export interface SessionInfo {
  readonly id: string
  readonly head: number
  readonly parent?: string
  readonly createdAt?: number
  readonly updatedAt?: number
}

/** All sessions of the store. Only the first and the last line of a log are read. */
export async function listSessions(dir: string): Promise<SessionInfo[]> {
  const sessions: SessionInfo[] = []
  for (const [i, name] of namesIn(dir).entries()) {
    if (i % sessionsPerTick === sessionsPerTick - 1) await new Promise((resolve) => setImmediate(resolve))
    const session = infoOf(join(dir, name), name)
    if (session) sessions.push(session)
  }
  return sessions
}

/** After this many sessions the event loop may run. */
const sessionsPerTick = 100

function infoOf(folder: string, name: string): SessionInfo | undefined {
  if (name.includes('.')) return undefined
  if (withReadErrors(folder, () => fs.lstatSync(folder, { throwIfNoEntry: false }))?.isDirectory() !== true)
    return undefined
  const session = sessionIn(folder, name)
  const log = session && logSummary(folder)
  if (!log) return undefined
  // A child exists from its first entry on; its folder may be older.
  if (session.parent !== undefined && log.head === 0) return undefined
  return { id: session.id, ...log, ...(session.parent !== undefined && { parent: session.parent }) }
}

type LogSummary = Omit<SessionInfo, 'id' | 'parent'>

function logSummary(folder: string): LogSummary | undefined {
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
    // An unreadable session is listed; reading it reports the problem.
    return { head: withReadErrors(path, () => countLines(readBytes(fd))) }
  } finally {
    fs.closeSync(fd)
  }
}

const chunk = 16 * 1024

/** The last line of the last complete batch, searched from the end. */
function lastLine(fd: number, path: string): string | undefined {
  return withReadErrors(path, () => {
    const { size } = fs.fstatSync(fd)
    for (let length = chunk; ; length *= 4) {
      const start = Math.max(0, size - length)
      const bytes = readBytes(fd, start, size)
      const end = completeEnd(bytes)
      const from = lineStart(bytes, end)
      // A line at the start of the piece may begin before it.
      if (end > 0 && (from > 0 || start === 0)) return bytes.toString('utf8', from, end)
      if (start === 0) return undefined
    }
  })
}

function firstLine(fd: number, path: string): string {
  return withReadErrors(path, () => {
    const { size } = fs.fstatSync(fd)
    for (let length = chunk; ; length *= 4) {
      const bytes = readBytes(fd, 0, Math.min(size, length))
      const end = bytes.indexOf(10)
      if (end >= 0 || length >= size) return bytes.toString('utf8', 0, Math.max(0, end))
    }
  })
}
