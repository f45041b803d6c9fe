import * as fs from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { digestOf } from '../../platform/digest.ts'
import { type PlacedPart, partsOf } from './base-parts.ts'
import { withReadErrors } from './file-errors.ts'
import { openForReading, readBytes } from './files.ts'
import { openLogForReading } from './log-file.ts'
import { completeEnd, lineStart } from './log-lines.ts'

/** A place in a log up to which keys were searched for in vain. */
export interface SearchedPart {
  readonly offset: number
  /**
   * The digest of the last bytes before `offset`. If it no longer fits, these lines were removed, because they could not be synced, and others
   * were written in their place: the search begins anew.
   */
  readonly digest: string
}

/** The keys of messages, and up to where the log was searched for each, if it was. */
type SearchedKeys = ReadonlyMap<string, SearchedPart | undefined>

interface KeySearch {
  /** The keys that are in the log. */
  readonly found: ReadonlySet<string>
  /** Where the search began. */
  readonly start: number
  readonly searched: SearchedPart
}

/**
 * Searches the log for keys of messages, piece by piece. Starts at the smallest offset up to which any of the keys has been
 * searched for. If a key has not been searched for at all, the entries that a fork shares are searched too.
 */
export function findKeys(folder: string, keys: SearchedKeys): KeySearch {
  const pieces = searchLog(folder, keys)
  for (let piece = pieces.next(); ; piece = pieces.next()) if (piece.done) return piece.value
}

/** The same without blocking the event loop for long. */
export async function findKeysInSteps(folder: string, keys: SearchedKeys): Promise<KeySearch> {
  const pieces = searchLog(folder, keys)
  for (let piece = pieces.next(); ; piece = pieces.next()) {
    if (piece.done) return piece.value
    await setImmediate()
  }
}

function* searchLog(folder: string, keys: SearchedKeys): Generator<void, KeySearch> {
  const found = new Set<string>()
  if (keys.size === 0) return { found, start: 0, searched: { offset: 0, digest: '' } }
  const log = openLogForReading(folder)
  try {
    const start = log ? startIn(log, keys) : logStart
    for (const part of start.offset === 0 ? partsOf(folder) : []) yield* searchPart(part, keys, found)
    const { offset, tail } = log ? yield* searchPieces(log, start, keys, found) : start
    return { found, start: start.offset, searched: { offset, digest: digestOf(tail) } }
  } finally {
    if (log) fs.closeSync(log.fd)
  }
}

interface OpenFile {
  readonly fd: number
  readonly path: string
  readonly end?: number
}

/** An offset, and the bytes before it that its digest is made of. */
interface Position {
  readonly offset: number
  readonly tail: Buffer
}

const tailSize = 4096
const logStart: Position = { offset: 0, tail: Buffer.alloc(0) }

/** The smallest offset of the keys, if the log still has the bytes before it that were searched; else its start. */
function startIn({ fd, path }: OpenFile, keys: SearchedKeys): Position {
  const least = leastSearched(keys)
  if (!least) return logStart
  const { offset, digest } = least
  const tail = withReadErrors(path, () => readBytes(fd, Math.max(0, offset - tailSize), offset))
  return digestOf(tail) === digest ? { offset, tail } : logStart
}

function leastSearched(keys: SearchedKeys): SearchedPart | undefined {
  let least: SearchedPart | undefined
  for (const part of keys.values()) {
    if (!part) return undefined
    if (!least || part.offset < least.offset) least = part
  }
  return least
}

function* searchPart({ path, bytes }: PlacedPart, keys: SearchedKeys, found: Set<string>): Generator<void> {
  const fd = openForReading(path)
  if (fd === undefined) return
  try {
    yield* searchPieces({ fd, path, end: bytes }, logStart, keys, found)
  } finally {
    fs.closeSync(fd)
  }
}

const pieceSize = 1024 * 1024

/** Searches whole lines, about a megabyte at a time. Returns where it ended. */
function* searchPieces(
  { fd, path, end = Number.POSITIVE_INFINITY }: OpenFile,
  start: Position,
  keys: SearchedKeys,
  found: Set<string>,
): Generator<void, Position> {
  let { offset, tail } = start
  for (let length = pieceSize; ; ) {
    const limit = Math.min(end, offset + length)
    const bytes = withReadErrors(path, () => readBytes(fd, offset, Math.min(limit, fs.fstatSync(fd).size)))
    const isEnd = bytes.length < length
    const lines = bytes.subarray(0, isEnd && end === Number.POSITIVE_INFINITY ? completeEnd(bytes) : lastLineEnd(bytes))
    addKeysIn(lines, keys, found)
    offset += lines.length
    tail = Buffer.concat([tail, lines.subarray(-tailSize)]).subarray(-tailSize)
    if (isEnd) return { offset, tail }
    length = lines.length > 0 ? pieceSize : 2 * length // a line may be longer than a piece
    yield
  }
}

const lastLineEnd = (bytes: Buffer): number => bytes.lastIndexOf(10) + 1

const mark = Buffer.from('"clientKey":')

/** Only lines that may contain a key are parsed. */
function addKeysIn(lines: Buffer, keys: SearchedKeys, found: Set<string>): void {
  for (let at = lines.indexOf(mark); at >= 0; at = lines.indexOf(mark, at + mark.length)) {
    const key = textAt(lines, at + mark.length)
    if (key !== undefined && keys.has(key) && !found.has(key) && isKeyOfLine(lines, at, key)) found.add(key)
  }
}

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
