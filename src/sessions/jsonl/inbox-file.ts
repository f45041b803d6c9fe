import * as fs from 'node:fs'
import { join } from 'node:path'
import type { InboxItem } from '../../core/log.ts'
import { failpoint } from '../../core/log.ts'
import { changing, looking } from './file-faults.ts'
import { openLogForReading } from './log-file.ts'
import { completeEnd, corrupt, lineStart } from './log-lines.ts'
import { bytesOf, openForAppending, openForReading, replaceFile } from './small-files.ts'

/**
 * Messages for the writer of a session: `inbox.jsonl`, one a line, and lines `{"taken":key}` for those that are in the
 * log. The log alone decides what was taken, in the stroke in which it was; the lines only save looking for it again.
 */
interface Inbox {
  /** By key, the first of each. */
  readonly items: ReadonlyMap<string, InboxItem>
  readonly taken: ReadonlySet<string>
}

export const inboxPath = (folder: string): string => join(folder, 'inbox.jsonl')

/** Beyond this the messages that were taken are thrown out of the file, and only their keys stay. */
const mostBytes = 256 * 1024

/** Leaves a message, once. Durable when it returns. Under the lock of the folder. */
export function leaveMessage(folder: string, item: InboxItem, { sync }: { sync: boolean }): boolean {
  const path = inboxPath(folder)
  const fd = openForAppending(path)
  try {
    return changing(path, () => {
      const { items, taken } = settled(fd, path)
      if (items.has(item.clientKey) || taken.has(item.clientKey)) return false
      // The key in front, so that no field of it can look like the mark of a batch that was cut off.
      const { clientKey, ...others } = item
      write(fd, `${JSON.stringify({ clientKey, ...others })}\n`, sync)
      return true
    })
  } finally {
    fs.closeSync(fd)
  }
}

/** What waits: the messages whose keys are not in the log. */
export function waitingMessages(folder: string): readonly InboxItem[] {
  const inbox = readInbox(folder)
  const open = [...inbox.items.values()].filter(({ clientKey }) => !inbox.taken.has(clientKey))
  const inLog = keysInLog(
    folder,
    open.map(({ clientKey }) => clientKey),
  )
  return open.filter(({ clientKey }) => !inLog.has(clientKey))
}

/** The same, and notes which were taken, so that the next one need not look. Under the lock of the folder. */
export function tidyInbox(folder: string): readonly InboxItem[] {
  const path = inboxPath(folder)
  const { items, taken } = readInbox(folder)
  if (items.size === 0) return []
  const waiting = waitingMessages(folder)
  const waits = new Set(waiting.map(({ clientKey }) => clientKey))
  const fresh = [...items.keys()].filter((key) => !waits.has(key) && !taken.has(key))
  if (looking(path, () => fs.statSync(path).size) > mostBytes) {
    const keys = [...taken, ...fresh].map((key) => JSON.stringify({ taken: key }))
    const lines = [...keys, ...waiting.map((item) => JSON.stringify(item))]
    replaceFile(path, lines.map((line) => `${line}\n`).join(''))
  } else if (fresh.length > 0) {
    const fd = openForAppending(path)
    try {
      settled(fd, path)
      const lines = fresh.map((key) => `${JSON.stringify({ taken: key })}\n`).join('')
      changing(path, () => fs.writeSync(fd, lines))
    } finally {
      fs.closeSync(fd)
    }
  }
  return waiting
}

function readInbox(folder: string): Inbox {
  const path = inboxPath(folder)
  const fd = openForReading(path)
  if (fd === undefined) return { items: new Map(), taken: new Set() }
  try {
    return parsed(
      looking(path, () => bytesOf(fd)),
      path,
    )
  } finally {
    fs.closeSync(fd)
  }
}

/** What the open file holds, after a line that was cut off has been cut off for good. */
function settled(fd: number, path: string): Inbox {
  const bytes = bytesOf(fd)
  const end = completeEnd(bytes)
  if (end < bytes.length) fs.ftruncateSync(fd, end)
  return parsed(bytes, path)
}

function write(fd: number, text: string, sync: boolean): void {
  const before = fs.fstatSync(fd).size
  try {
    failpoint('jsonl.send.beforeWrite')
    const bytes = Buffer.from(text)
    for (let done = 0; done < bytes.length; ) done += fs.writeSync(fd, bytes, done)
    failpoint('jsonl.send.afterWrite')
    if (sync) fs.fdatasyncSync(fd)
  } catch (error) {
    try {
      fs.ftruncateSync(fd, before)
    } catch {} // the next one under the lock cuts it off
    throw error
  }
}

function parsed(bytes: Buffer, path: string): Inbox {
  const items = new Map<string, InboxItem>()
  const taken = new Set<string>()
  const lines = bytes.subarray(0, completeEnd(bytes)).toString().split('\n').slice(0, -1)
  for (const [i, line] of lines.entries()) {
    const value = parsedLine(line, path, i + 1)
    const { clientKey, taken: key } = value
    if (typeof key === 'string' && clientKey === undefined) taken.add(key)
    else if (typeof clientKey !== 'string') throw corrupt(path, i + 1, 'is no message')
    else if (!items.has(clientKey)) items.set(clientKey, value as InboxItem)
  }
  return { items, taken }
}

function parsedLine(line: string, path: string, number: number): { clientKey?: unknown; taken?: unknown } {
  try {
    return (JSON.parse(line) as object | null) ?? {}
  } catch (cause) {
    throw corrupt(path, number, 'is no JSON', cause)
  }
}

/** Which of the keys stand in the log. It is gone through once, and only lines that look like it are parsed. */
function keysInLog(folder: string, keys: readonly string[]): Set<string> {
  const found = new Set<string>()
  if (keys.length === 0) return found
  const open = openLogForReading(folder)
  if (!open) return found
  const { path, fd } = open
  try {
    const bytes = looking(path, () => bytesOf(fd))
    const log = bytes.subarray(0, completeEnd(bytes))
    const wanted = new Set(keys)
    for (let at = log.indexOf(mark); at >= 0; at = log.indexOf(mark, at + mark.length)) {
      const key = textAt(log, at + mark.length)
      if (key !== undefined && wanted.has(key) && !found.has(key) && isKeyOfLine(log, at, key)) found.add(key)
    }
    return found
  } finally {
    fs.closeSync(fd)
  }
}

const mark = Buffer.from('"clientKey":')

/** The JSON text that begins there. */
function textAt(log: Buffer, start: number): string | undefined {
  if (log[start] !== 0x22) return undefined
  let end = start + 1
  while (end < log.length && log[end] !== 0x22) end += log[end] === 0x5c ? 2 : 1
  return parsedOr<string | undefined>(log.toString('utf8', start, end + 1), undefined)
}

/** Whether it is the key of the entry itself, and not of something deep inside. */
function isKeyOfLine(log: Buffer, at: number, key: string): boolean {
  const end = log.indexOf(10, at)
  const entry = parsedOr<object | null>(log.toString('utf8', lineStart(log, end + 1), end), null)
  return entry !== null && 'clientKey' in entry && entry.clientKey === key
}

/** Reading the log says what is wrong with it. */
function parsedOr<T>(json: string, otherwise: T): T {
  try {
    return JSON.parse(json) as T
  } catch {
    return otherwise
  }
}
