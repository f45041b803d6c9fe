import * as fs from 'node:fs'
import { join } from 'node:path'
import { failpoint, type InboxItem } from '../../core/log.ts'
import { withReadErrors, withWriteErrors } from './file-errors.ts'
import { openForAppending, openForReading, readBytes, replaceFile, syncData, syncFolder } from './files.ts'
import { openLogForReading } from './log-file.ts'
import { completeEnd, corrupt, lineStart } from './log-lines.ts'

/**
 * Messages for the writer of a session: `inbox.jsonl`, one per line, and lines `{"taken":key}` for those that are in the
 * log. Only the log decides which messages were delivered; the lines save searching the log again.
 */
interface InboxContents {
  /** By key; of messages with the same key the first. */
  readonly items: ReadonlyMap<string, InboxItem>
  /** The keys of delivered messages; `taken` in the file. */
  readonly delivered: ReadonlySet<string>
}

export const inboxPath = (folder: string): string => join(folder, 'inbox.jsonl')

/** In a larger file delivered messages are replaced by their keys. */
const maxInboxBytes = 256 * 1024

/** Adds a message, unless one with its key exists or was delivered. Requires the lock of the folder. */
export function addMessage(folder: string, item: InboxItem): void {
  const path = inboxPath(folder)
  const fd = openForAppending(path)
  try {
    withWriteErrors(path, () => {
      const { items, delivered } = readRepaired(fd, path)
      if (items.has(item.clientKey) || delivered.has(item.clientKey)) return
      // The key comes first, so that no field can look like the mark of an incomplete batch.
      const { clientKey, ...others } = item
      write(fd, `${JSON.stringify({ clientKey, ...others })}\n`)
    })
  } finally {
    fs.closeSync(fd)
  }
}

/** Waits until the messages are on the disk. Needs no lock: a paused process must not keep it for longer than a moment. */
export async function syncInbox(folder: string): Promise<void> {
  const path = inboxPath(folder)
  const fd = openForReading(path)
  if (fd === undefined) return // the session was deleted meanwhile
  await withWriteErrors(path, async () => {
    try {
      await syncData(fd)
    } finally {
      fs.closeSync(fd)
    }
    await syncFolder(folder)
  })
}

/** The messages whose keys are not in the log. */
export function waitingMessages(folder: string): readonly InboxItem[] {
  const inbox = readInbox(folder)
  const open = [...inbox.items.values()].filter(({ clientKey }) => !inbox.delivered.has(clientKey))
  const inLog = keysInLog(
    folder,
    open.map(({ clientKey }) => clientKey),
  )
  return open.filter(({ clientKey }) => !inLog.has(clientKey))
}

/** Whether `compactInbox` would change the file. */
export function hasNewlyDelivered(folder: string, waiting: readonly InboxItem[]): boolean {
  const { items, delivered } = readInbox(folder)
  const waitingKeys = new Set(waiting.map(({ clientKey }) => clientKey))
  return [...items.keys()].some((key) => !waitingKeys.has(key) && !delivered.has(key))
}

/** The same, and records which were delivered, to save the next search. Requires the lock of the folder. */
export async function compactInbox(folder: string): Promise<readonly InboxItem[]> {
  const path = inboxPath(folder)
  const { items, delivered } = readInbox(folder)
  if (items.size === 0) return []
  const waiting = waitingMessages(folder)
  const waitingKeys = new Set(waiting.map(({ clientKey }) => clientKey))
  const newlyDelivered = [...items.keys()].filter((key) => !waitingKeys.has(key) && !delivered.has(key))
  if (withReadErrors(path, () => fs.statSync(path).size) > maxInboxBytes) {
    const keys = [...delivered, ...newlyDelivered].map((key) => JSON.stringify({ taken: key }))
    const lines = [...keys, ...waiting.map((item) => JSON.stringify(item))]
    await replaceFile(path, lines.map((line) => `${line}\n`).join(''))
  } else if (newlyDelivered.length > 0) {
    const fd = openForAppending(path)
    try {
      readRepaired(fd, path)
      const lines = newlyDelivered.map((key) => `${JSON.stringify({ taken: key })}\n`).join('')
      withWriteErrors(path, () => fs.writeSync(fd, lines))
    } finally {
      fs.closeSync(fd)
    }
  }
  return waiting
}

function readInbox(folder: string): InboxContents {
  const path = inboxPath(folder)
  const fd = openForReading(path)
  if (fd === undefined) return { items: new Map(), delivered: new Set() }
  try {
    return parsed(
      withReadErrors(path, () => readBytes(fd)),
      path,
    )
  } finally {
    fs.closeSync(fd)
  }
}

/** Reads the open file, and truncates a partial line at its end. */
function readRepaired(fd: number, path: string): InboxContents {
  const bytes = readBytes(fd)
  const end = completeEnd(bytes)
  if (end < bytes.length) fs.ftruncateSync(fd, end)
  return parsed(bytes, path)
}

function write(fd: number, text: string): void {
  const before = fs.fstatSync(fd).size
  try {
    failpoint('jsonl.send.beforeWrite')
    const bytes = Buffer.from(text)
    for (let done = 0; done < bytes.length; ) done += fs.writeSync(fd, bytes, done)
    failpoint('jsonl.send.afterWrite')
  } catch (error) {
    try {
      fs.ftruncateSync(fd, before)
    } catch {} // the next writer truncates it
    throw error
  }
}

function parsed(bytes: Buffer, path: string): InboxContents {
  const items = new Map<string, InboxItem>()
  const delivered = new Set<string>()
  const lines = bytes.subarray(0, completeEnd(bytes)).toString().split('\n').slice(0, -1)
  for (const [i, line] of lines.entries()) {
    const value = parsedLine(line, path, i + 1)
    const { clientKey, taken: key } = value
    if (typeof key === 'string' && clientKey === undefined) delivered.add(key)
    else if (typeof clientKey !== 'string') throw corrupt(path, i + 1, 'is not a message')
    else if (!items.has(clientKey)) items.set(clientKey, value as InboxItem)
  }
  return { items, delivered }
}

function parsedLine(line: string, path: string, number: number): { clientKey?: unknown; taken?: unknown } {
  try {
    return (JSON.parse(line) as object | null) ?? {}
  } catch (cause) {
    throw corrupt(path, number, 'is not valid JSON', cause)
  }
}

/** The keys that are in the log. Takes one pass; only lines that may contain one are parsed. */
function keysInLog(folder: string, keys: readonly string[]): Set<string> {
  const present = new Set<string>()
  if (keys.length === 0) return present
  const open = openLogForReading(folder)
  if (!open) return present
  const { path, fd } = open
  try {
    const bytes = withReadErrors(path, () => readBytes(fd))
    const log = bytes.subarray(0, completeEnd(bytes))
    const wanted = new Set(keys)
    for (let at = log.indexOf(mark); at >= 0; at = log.indexOf(mark, at + mark.length)) {
      const key = textAt(log, at + mark.length)
      if (key !== undefined && wanted.has(key) && !present.has(key) && isKeyOfLine(log, at, key)) present.add(key)
    }
    return present
  } finally {
    fs.closeSync(fd)
  }
}

const mark = Buffer.from('"clientKey":')

/** The JSON string that begins at a position. */
function textAt(log: Buffer, start: number): string | undefined {
  if (log[start] !== 0x22) return undefined
  let end = start + 1
  while (end < log.length && log[end] !== 0x22) end += log[end] === 0x5c ? 2 : 1
  return parsedOr<string | undefined>(log.toString('utf8', start, end + 1), undefined)
}

/** Whether the key belongs to the entry itself, not to a nested object. */
function isKeyOfLine(log: Buffer, at: number, key: string): boolean {
  const end = log.indexOf(10, at)
  const entry = parsedOr<object | null>(log.toString('utf8', lineStart(log, end + 1), end), null)
  return entry !== null && 'clientKey' in entry && entry.clientKey === key
}

/** Ignores errors: reading the log reports them. */
function parsedOr<T>(json: string, otherwise: T): T {
  try {
    return JSON.parse(json) as T
  } catch {
    return otherwise
  }
}
