import type { LogEntry } from '../libero.ts'
import type { LogSource } from './log-model.ts'

/** The entries of the first session in an export, or of a file that has entries alone. Throws if a line is neither. */
export function readExport(text: string): readonly LogEntry[] {
  const entries: LogEntry[] = []
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const value = parsed(line, i + 1)
    if (value.libero === 'child') break // a session of its own
    if (value.libero !== undefined) continue
    if (typeof value.seq !== 'number' || typeof value.type !== 'string')
      throw new TypeError(`Line ${i + 1} is no entry of a log; drop a file that "libero sessions export" wrote`)
    entries.push(value as unknown as LogEntry)
  }
  if (entries.length === 0)
    throw new TypeError('The file has no entries; drop a file that "libero sessions export" wrote')
  return entries
}

function parsed(line: string, number: number): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>
  } catch {
    throw new TypeError(`Line ${number} is no JSON; drop a file that "libero sessions export" wrote`)
  }
}

export function fileSource(entries: readonly LogEntry[]): LogSource {
  return {
    async read(after, to = Number.POSITIVE_INFINITY) {
      const from = entries.findIndex(({ seq }) => seq > after)
      return from < 0 ? [] : entries.slice(from, from + 500).filter(({ seq }) => seq <= to)
    },
  }
}
