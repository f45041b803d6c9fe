import * as fs from 'node:fs'
import { join } from 'node:path'
import { failpoint, type InboxItem } from '../../core/log.ts'
import { syncFolder } from '../../platform/files.ts'
import { findKeys, type SearchedPart } from './accepted-keys.ts'
import { withReadErrors, withWriteErrors } from './file-errors.ts'
import { openForAppending, openForReading, readBytes, replaceFile, syncData } from './files.ts'
import { completeEnd, corrupt } from './log-lines.ts'

/**
 * Messages for the writer of a session: `inbox.jsonl`, one per line, and lines `{"taken":key}` for those that are in the
 * log. Only the log decides which messages were accepted; the lines save searching the log again. In a long log, lines
 * `{"searched":bytes,"digest":digest,"key":key}` say that a key is not in its first bytes.
 */
interface InboxContents {
  /** By key; of messages with the same key the first. */
  readonly items: ReadonlyMap<string, InboxItem>
  /** The keys of accepted messages; `taken` in the file. */
  readonly accepted: ReadonlySet<string>
  readonly searched: ReadonlyMap<string, SearchedPart>
}

export const inboxPath = (folder: string): string => join(folder, 'inbox.jsonl')

/** In a larger file accepted messages are replaced by their keys. */
const maxInboxBytes = 256 * 1024

/**
 * Adds a message, unless one with its key exists or was accepted. `searched` is how far the log was searched for its key, in
 * vain. Requires the lock of the folder.
 */
export function addMessage(folder: string, item: InboxItem, searched: SearchedPart): void {
  const path = inboxPath(folder)
  const fd = openForAppending(path)
  try {
    withWriteErrors(path, () => {
      const { items, accepted } = readRepaired(fd, path)
      if (items.has(item.clientKey) || accepted.has(item.clientKey)) return
      // `clientKey` is written first. A line that begins with `{"more":true,` would be read as part of an incomplete batch (see
      // `log-lines.ts`).
      const { clientKey, ...others } = item
      const searchedLines = searched.offset >= longLog ? searchedLine(clientKey, searched) : ''
      write(fd, `${JSON.stringify({ clientKey, ...others })}\n${searchedLines}`)
    })
  } finally {
    fs.closeSync(fd)
  }
}

/** A search of at least this many bytes is recorded, so that the next one begins where it ended. */
const longLog = 256 * 1024
const searchedLine = (key: string, { offset, digest }: SearchedPart): string =>
  `${JSON.stringify({ searched: offset, digest, key })}\n`

/** Waits until the messages are on the disk. To be called without the lock: syncing takes time, and a process that is paused meanwhile would keep the lock. */
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
  return classifiedInbox(folder).waiting
}

/** Whether `compactInbox` would change the file. */
export function hasNewlyAccepted(folder: string): boolean {
  return classifiedInbox(folder).newlyAccepted.length > 0
}

interface ClassifiedInbox extends InboxContents {
  readonly waiting: readonly InboxItem[]
  /** The keys of messages that are in the log, which the file does not say yet. */
  readonly newlyAccepted: readonly string[]
  /** The lines that tell the next search where to begin. */
  readonly searchedLines: readonly string[]
}

function classifiedInbox(folder: string): ClassifiedInbox {
  const inbox = readInbox(folder)
  const open = [...inbox.items.keys()].filter((key) => !inbox.accepted.has(key))
  const { found, start, searched } = findKeys(folder, new Map(open.map((key) => [key, inbox.searched.get(key)])))
  const waiting = open.filter((key) => !found.has(key))
  return {
    ...inbox,
    waiting: waiting.map((key) => inbox.items.get(key)!),
    newlyAccepted: open.filter((key) => found.has(key)),
    searchedLines: searched.offset - start < longLog ? [] : waiting.map((key) => searchedLine(key, searched)),
  }
}

/** The messages that wait. Records which ones were accepted, to save the next search. Requires the lock of the folder. */
export async function compactInbox(folder: string): Promise<readonly InboxItem[]> {
  const path = inboxPath(folder)
  const { items, accepted, newlyAccepted, waiting, searchedLines } = classifiedInbox(folder)
  const takenLines = newlyAccepted.map((key) => `${JSON.stringify({ taken: key })}\n`)
  const added = [...takenLines, ...searchedLines]
  if (items.size > waiting.length && withReadErrors(path, () => fs.statSync(path).size) > maxInboxBytes) {
    const keys = [...accepted].map((key) => `${JSON.stringify({ taken: key })}\n`)
    const lines = [...keys, ...waiting.map((item) => `${JSON.stringify(item)}\n`), ...added]
    await replaceFile(path, lines.join(''))
  } else if (added.length > 0) {
    const fd = openForAppending(path)
    try {
      withWriteErrors(path, () => {
        readRepaired(fd, path)
        fs.writeSync(fd, added.join(''))
      })
    } finally {
      fs.closeSync(fd)
    }
  }
  return waiting
}

function readInbox(folder: string): InboxContents {
  const path = inboxPath(folder)
  const fd = openForReading(path)
  if (fd === undefined) return { items: new Map(), accepted: new Set(), searched: new Map() }
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
  const accepted = new Set<string>()
  const searched = new Map<string, SearchedPart>()
  const lines = bytes.subarray(0, completeEnd(bytes)).toString().split('\n').slice(0, -1)
  for (const [i, line] of lines.entries()) {
    const value = parsedLine(line, path, i + 1)
    const { clientKey, taken, searched: offset, digest, key } = value
    if (typeof clientKey === 'string') items.set(clientKey, items.get(clientKey) ?? (value as InboxItem))
    else if (typeof taken === 'string') accepted.add(taken)
    else if (typeof offset === 'number' && typeof key === 'string') {
      if (typeof digest === 'string') searched.set(key, { offset, digest }) // older versions wrote none
    } else throw corrupt(path, i + 1, 'is not a message')
  }
  return { items, accepted, searched }
}

interface InboxLine {
  readonly clientKey?: unknown
  readonly taken?: unknown
  readonly searched?: unknown
  readonly digest?: unknown
  readonly key?: unknown
}

function parsedLine(line: string, path: string, number: number): InboxLine {
  try {
    return (JSON.parse(line) as object | null) ?? {}
  } catch (cause) {
    throw corrupt(path, number, 'is not valid JSON', cause)
  }
}
