import { isUtf8 } from 'node:buffer'
import { StoreError } from '../../core/errors.ts'
import type { LogEntry } from '../../core/log.ts'

/**
 * A log as text: one entry a line, the n-th line is entry n. Of entries that were appended together all but the last
 * begin with this mark, so that a batch that was cut off shows as one.
 */
const more = '{"more":true,'
const moreBytes = Buffer.from(more)
const newline = 10

/** Entries that belong together, as lines. */
export function linesOf(entries: readonly LogEntry[]): string {
  const last = entries.length - 1
  if (last === 0) return `${jsonOf(entries[0]!)}\n`
  return entries.map((entry, i) => `${i < last ? more + jsonOf(entry).slice(1) : jsonOf(entry)}\n`).join('')
}

/** An entry may have a field `more` of its own, but not in front, where it would be taken for the mark. */
function jsonOf(entry: LogEntry): string {
  const json = JSON.stringify(entry)
  if (!json.startsWith('{"more":')) return json
  const { seq, ...others } = entry
  return JSON.stringify({ seq, ...others })
}

/**
 * Where the last complete batch ends. What follows was cut off while it was written: it has no end, or zeros where the
 * disk did not get as far as the text.
 */
export function completeEnd(bytes: Uint8Array): number {
  const buffer = asBuffer(bytes)
  let end = buffer.lastIndexOf(newline) + 1
  while (end > 0) {
    const start = lineStart(buffer, end)
    const line = buffer.subarray(start, end)
    if (!line.subarray(0, moreBytes.length).equals(moreBytes) && !line.includes(0)) return end
    end = start
  }
  return 0
}

/** How many lines there are in bytes that end with one. */
export function countLines(bytes: Uint8Array): number {
  const buffer = asBuffer(bytes)
  let count = 0
  for (let at = buffer.indexOf(newline); at >= 0; at = buffer.indexOf(newline, at + 1)) count++
  return count
}

/** Where the line that ends at `end` begins. */
export function lineStart(bytes: Uint8Array, end: number): number {
  return end < 2 ? 0 : asBuffer(bytes).lastIndexOf(newline, end - 2) + 1
}

/** The entries of complete lines, of which the first is line `first`. `skip` of them are passed over unread. */
export function entriesIn(bytes: Uint8Array, { file, first, skip = 0 }: LinePlace): LogEntry[] {
  const buffer = asBuffer(bytes)
  const entries: LogEntry[] = []
  let seq = first
  for (let start = 0; start < buffer.length; seq++) {
    const found = buffer.indexOf(newline, start)
    const end = found < 0 ? buffer.length : found
    if (seq >= first + skip) entries.push(entryIn(buffer.subarray(start, end), file, seq))
    start = end + 1
  }
  return entries
}

export interface LinePlace {
  readonly file: string
  readonly first: number
  readonly skip?: number
}

/** One line as the entry it is, or an error that says where it stands. */
export function entryIn(line: Uint8Array, file: string, seq: number): LogEntry {
  const text = asBuffer(line).toString()
  let entry: LogEntry | null
  try {
    entry = JSON.parse(text.startsWith(more) ? `{${text.slice(more.length)}` : text) as LogEntry | null
  } catch (cause) {
    throw corrupt(file, seq, 'is no JSON', cause)
  }
  if (!isUtf8(line)) throw corrupt(file, seq, 'is no UTF-8')
  if (entry?.seq !== seq) throw corrupt(file, seq, `should be entry ${seq}, but is ${entry?.seq ?? 'none'}`)
  return entry
}

/** What is there cannot be read, and is never passed over. */
export function corrupt(file: string, line: number, why: string, cause?: unknown): StoreError {
  return new StoreError(
    'corrupt',
    `${file}, line ${line} ${why}; restore the file from a backup, or mend that line. Other sessions are not affected`,
    cause === undefined ? undefined : { cause },
  )
}

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
