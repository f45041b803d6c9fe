import * as fs from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { partsOf } from './base-parts.ts'
import { withReadErrors } from './file-errors.ts'
import { openForReading, readBytes } from './files.ts'
import { openLogForReading } from './log-file.ts'
import { completeEnd, lineStart } from './log-lines.ts'

/** The keys of messages, and up to where the log was searched for each. */
export type SearchedKeys = ReadonlyMap<string, number>

interface KeySearch {
  /** The keys that are in the log. */
  readonly found: ReadonlySet<string>
  /** The end of what was searched. */
  readonly end: number
}

/**
 * Searches the log for keys of messages, piece by piece, from the earliest place where the search for one of them has to go
 * on. For a key that was never searched for, that includes the entries that a fork shares.
 */
export function findKeys(folder: string, keys: SearchedKeys): KeySearch {
  const found = new Set<string>()
  const pieces = piecesWithKeys(folder, keys, found)
  for (let piece = pieces.next(); ; piece = pieces.next()) if (piece.done) return { found, end: piece.value }
}

/** The same without blocking the event loop for long. */
export async function findKeysInSteps(folder: string, keys: SearchedKeys): Promise<KeySearch> {
  const found = new Set<string>()
  const pieces = piecesWithKeys(folder, keys, found)
  for (let piece = pieces.next(); ; piece = pieces.next()) {
    if (piece.done) return { found, end: piece.value }
    await setImmediate()
  }
}

function* piecesWithKeys(folder: string, keys: SearchedKeys, found: Set<string>): Generator<void, number> {
  const start = Math.min(...keys.values())
  if (keys.size === 0) return 0
  for (const { path, bytes } of start === 0 ? partsOf(folder) : []) {
    const fd = openForReading(path)
    if (fd !== undefined) yield* searchedPieces({ fd, path, start: 0, end: bytes }, keys, found)
  }
  const open = openLogForReading(folder)
  return open ? yield* searchedPieces({ ...open, start }, keys, found) : 0
}

interface SearchedFile {
  readonly fd: number
  readonly path: string
  readonly start: number
  readonly end?: number
}

const pieceSize = 1024 * 1024

/** Searches whole lines, about a megabyte at a time, and closes the file. */
function* searchedPieces(
  { fd, path, start, end = Number.POSITIVE_INFINITY }: SearchedFile,
  keys: SearchedKeys,
  found: Set<string>,
): Generator<void, number> {
  let position = start
  try {
    for (let length = pieceSize; ; ) {
      const limit = Math.min(end, position + length)
      const bytes = withReadErrors(path, () => readBytes(fd, position, Math.min(limit, fs.fstatSync(fd).size)))
      const isEnd = bytes.length < length
      const lines = bytes.subarray(
        0,
        isEnd && end === Number.POSITIVE_INFINITY ? completeEnd(bytes) : lastLineEnd(bytes),
      )
      addKeysIn(lines, keys, found)
      position += lines.length
      if (isEnd) return position
      length = lines.length > 0 ? pieceSize : 2 * length // a line may be longer than a piece
      yield
    }
  } finally {
    fs.closeSync(fd)
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
