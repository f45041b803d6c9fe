import type { EntryOf, LogEntry } from '../core/log.ts'
import type { SessionStore } from '../core/store.ts'

/**
 * The number of the entry before a prompt: the one with this key, or without a key the last one that was delivered. Reads
 * the log from its end, no further than needed. Undefined if there is none.
 */
export async function beforePrompt(store: SessionStore, id: string, clientKey?: string): Promise<number | undefined> {
  let entries: LogEntry[] = []
  for (let before: number | undefined; ; before = entries[0]!.seq) {
    const page = await store.read(id, { limit: pageSize, fromEnd: true, ...(before !== undefined && { before }) })
    entries = [...page, ...entries]
    const isAll = page.length === 0 || page[0]!.seq === 1
    const found = clientKey === undefined ? lastPrompt(entries, isAll) : withKey(entries, clientKey)
    if (found !== undefined || isAll) return found === undefined ? undefined : found - 1
  }
}

const pageSize = 200

function withKey(entries: readonly LogEntry[], clientKey: string): number | undefined {
  return entries.find((entry) => (entry.type === 'input' || entry.type === 'turn') && entry.clientKey === clientKey)
    ?.seq
}

function lastPrompt(entries: readonly LogEntry[], isAll: boolean): number | undefined {
  const inputs = new Map(entries.flatMap((entry) => (entry.type === 'input' ? [[entry.id, entry] as const] : [])))
  for (let i = entries.length - 1; i >= 0; i--) {
    const entry = entries[i]!
    if (entry.type !== 'turn' || entry.turn.role !== 'user') continue
    const { consumed = [], clientKey, seq } = entry
    const known = consumed.flatMap((one) => inputs.get(one) ?? [])
    if (known.length < consumed.length && !isAll) return undefined // the entries before tell how it was sent
    if (known.some(({ mode }) => mode !== 'steer')) return Math.min(...known.map((input) => input.seq))
    if (known.length === 0 && (clientKey !== undefined || consumed.length > 0)) return seq
    const start = consumed.length === 0 ? runBefore(entries, i) : undefined
    if (start) return start.seq
  }
  return undefined
}

/** The begin of a run whose first turn this is. */
function runBefore(entries: readonly LogEntry[], at: number): EntryOf<'run_started'> | undefined {
  const before = entries.slice(0, at).findLast(({ type }) => type === 'turn' || type === 'run_started')
  return before?.type === 'run_started' ? before : undefined
}
