import { isUtf8 } from 'node:buffer'
import { StoreError } from '../../core/errors.ts'
import type { LogEntry } from '../../core/log.ts'

/**
 * A log as text: one entry per line, line n is entry n; in a fork, the first line is the entry after those that it shares.
 * Of entries appended together, all but the last begin with this mark, so that an incomplete batch is recognized.
 */
const more = '{"more":true,'
const moreBytes = Buffer.from(more)
const newline = 10

/** The entries of one append as lines. */
export function linesOf(entries: readonly LogEntry[]): string {
  const last = entries.length - 1
  if (last === 0) return `${jsonOf(entries[0]!)}\n`
  return entries.map((entry, i) => `${i < last ? more + jsonOf(entry).slice(1) : jsonOf(entry)}\n`).join('')
}

/** An entry may have a field `more` itself, but not in front, where it would be taken for the mark. */
function jsonOf(entry: LogEntry): string {
  const json = JSON.stringify(entry)
  if (!json.startsWith('{"more":')) return json
  const { seq, ...others } = entry
  return JSON.stringify({ seq, ...others })
}

/**
 * The end of the last complete batch. What follows is a partial write: no final newline, an unfinished batch, or zero bytes
 * after a power failure.
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

/** The start of the line that ends at `end`. */
export function lineStart(bytes: Uint8Array, end: number): number {
  return end < 2 ? 0 : asBuffer(bytes).lastIndexOf(newline, end - 2) + 1
}

/** The place of lines in a log. */
interface LineRange {
  readonly file: string
  /** The number of the entry in the first of these lines. */
  readonly first: number
  /** The number of the entry before the first line of the file. Default 0. */
  readonly base?: number
}

/** The entries of complete lines. */
export function entriesIn(bytes: Uint8Array, { file, first, base = 0 }: LineRange): LogEntry[] {
  const buffer = asBuffer(bytes)
  const entries: LogEntry[] = []
  for (let start = 0, seq = first; start < buffer.length; seq++) {
    const lineBreak = buffer.indexOf(newline, start)
    const end = lineBreak < 0 ? buffer.length : lineBreak
    entries.push(entryIn(buffer.subarray(start, end), { file, seq, line: seq - base }))
    start = end + 1
  }
  return entries
}

/** Parses one line; an error names the file and the line. */
function entryIn(bytes: Uint8Array, { file, seq, line }: { file: string; seq: number; line: number }): LogEntry {
  const text = asBuffer(bytes).toString()
  let entry: LogEntry | null
  try {
    entry = JSON.parse(text.startsWith(more) ? `{${text.slice(more.length)}` : text) as LogEntry | null
  } catch (cause) {
    throw corrupt(file, line, 'is not valid JSON', cause)
  }
  if (!isUtf8(bytes)) throw corrupt(file, line, 'is not valid UTF-8')
  if (entry?.seq !== seq) throw corrupt(file, line, `should be entry ${seq}, but is ${entry?.seq ?? 'none'}`)
  return entry
}

/** An unreadable line is an error; it is never skipped. */
export function corrupt(file: string, line: number, why: string, cause?: unknown): StoreError {
  return new StoreError(
    'corrupt',
    `${file}, line ${line} ${why}; restore the file from a backup, or repair that line. Other sessions are not affected`,
    cause === undefined ? undefined : { cause },
  )
}

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
