import type { LogEntry } from '../libero.ts'
import type { LogSource } from './log-model.ts'
import { ZotReader } from './read-zot.ts'

/**
 * The entries of the first session in an export, of the event lines of `libero run --events`, or of zot's lines. Throws if a
 * line is none of them.
 */
export function readExport(text: string): readonly LogEntry[] {
  const entries: LogEntry[] = []
  const zot = new ZotReader()
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const value = parsed(line, i + 1)
    if (value.libero === 'child') break // a session of its own
    const { entry = value } = value as { readonly entry?: Readonly<Record<string, unknown>> }
    if (typeof entry.seq === 'number' && typeof entry.type === 'string') entries.push(entry as unknown as LogEntry)
    else if (value.libero === undefined && value.durable !== false && value.type !== 'hello' && !zot.add(value))
      throw new TypeError(`Line ${i + 1} is no entry of a log; ${whatToDrop}`)
  }
  const found = entries.length > 0 ? entries : zot.entries
  if (found.length === 0) throw new TypeError(`The file has no entries; ${whatToDrop}`)
  return found
}

const whatToDrop = 'drop a file that "libero sessions export", "libero run --events" or zot wrote'

function parsed(line: string, number: number): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>
  } catch {
    throw new TypeError(`Line ${number} is no JSON; ${whatToDrop}`)
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
