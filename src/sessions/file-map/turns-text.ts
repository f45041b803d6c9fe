import { StoreError } from '../../core/errors.ts'
import type { LogEntry } from '../../core/log.ts'

/** Entries as lines, to be put behind the text that is there. */
export const textOf = (entries: readonly LogEntry[]): string =>
  entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')

/** The first `head` lines: what follows was never acknowledged. */
export function acknowledged(text: string, head: number, path: string): string {
  const end = startOfLine(text, head)
  if (end === undefined)
    throw new StoreError(
      'corrupt',
      `${path} holds fewer than the ${head} entries that its meta.json counts; restore it`,
    )
  return text.slice(0, end)
}

/** The entries after a number. */
export function entriesAfter(text: string, after: number, path: string): LogEntry[] {
  const entries: LogEntry[] = []
  let start = startOfLine(text, after) ?? text.length
  for (let seq = after + 1; start < text.length; seq++) {
    const end = text.indexOf('\n', start)
    entries.push(entryOf(text.slice(start, end), seq, path))
    start = end + 1
  }
  return entries
}

/** Every key that an entry brought into the log. Only lines that look like it are parsed. */
export function keysIn(text: string, path: string): Set<string> {
  const keys = new Set<string>()
  for (const [i, line] of text.split('\n').entries()) {
    if (!line.includes('"clientKey":')) continue
    const key = keyOf(entryOf(line, i + 1, path))
    if (key) keys.add(key)
  }
  return keys
}

export const keyOf = (entry: LogEntry): string | undefined => ('clientKey' in entry ? entry.clientKey : undefined)

function entryOf(line: string, seq: number, path: string): LogEntry {
  let entry: LogEntry | null = null
  let cause: unknown
  try {
    entry = JSON.parse(line) as LogEntry | null
  } catch (error) {
    cause = error
  }
  if (entry?.seq === seq) return entry
  throw new StoreError('corrupt', `${path}, line ${seq} is not entry ${seq}; restore the file, or mend that line`, {
    cause,
  })
}

/** Where the line after `count` lines begins; undefined when there are fewer. */
function startOfLine(text: string, count: number): number | undefined {
  let start = 0
  for (let i = 0; i < count; i++) {
    const end = text.indexOf('\n', start)
    if (end < 0) return undefined
    start = end + 1
  }
  return start
}
