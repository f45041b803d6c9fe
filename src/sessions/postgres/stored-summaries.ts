import type { LogEntry } from '../../core/log.ts'
import type { EntryRange, Fence } from '../../core/store.ts'
import { applyEntries, emptySummary, type StoredSummary } from '../stored-summary.ts'
import type { PostgresTables } from './tables.ts'
import { parseStored, toId } from './values.ts'

/** How many summaries are remembered. */
const maxRemembered = 10_000
/** How many shared entries are read at a time. */
const pageSize = 1000

/**
 * Remembers the summaries of the sessions that this process writes, so that an append need not read the summary first. Only the
 * process with the lease appends, so a summary is valid as long as the lease and the head are the same.
 */
export class StoredSummaries {
  readonly #tables: PostgresTables
  readonly #read: (id: string, range: EntryRange) => Promise<readonly LogEntry[]>
  readonly #remembered = new Map<string, { readonly epoch: number; readonly summary: StoredSummary }>()

  constructor(tables: PostgresTables, read: (id: string, range: EntryRange) => Promise<readonly LogEntry[]>) {
    this.#tables = tables
    this.#read = read
  }

  remember(id: string, epoch: number, summary: StoredSummary): void {
    this.#remembered.delete(id)
    this.#remembered.set(id, { epoch, summary })
    if (this.#remembered.size > maxRemembered)
      for (const oldest of this.#remembered.keys()) {
        this.#remembered.delete(oldest)
        break
      }
  }

  forget(id: string): void {
    this.#remembered.delete(id)
  }

  /** The summary of a session at the head of the fence; undefined if the session is not there. */
  async atHead(id: string, { epoch, head, base }: Fence): Promise<StoredSummary | undefined> {
    const known = this.#remembered.get(id)
    if (known?.epoch === epoch && known.summary.head === head) return known.summary
    if (head === 0) return emptySummary
    const stored = await this.#stored(id)
    if (stored?.head === head) return stored
    return base === undefined || stored ? undefined : this.#shared(base, head)
  }

  /** The summary of the entries that a fork shares. They take no room in the fork. */
  async #shared(base: string, head: number): Promise<StoredSummary | undefined> {
    const stored = await this.#stored(base)
    if (stored?.head === head) return { ...stored, bytes: 0 }
    let summary: StoredSummary = emptySummary
    while (summary.head < head) {
      const entries = await this.#read(base, { after: summary.head, before: head + 1, limit: pageSize })
      if (entries.length === 0) return undefined
      summary = applyEntries(summary, entries, 0)
    }
    return summary
  }

  async #stored(id: string): Promise<StoredSummary | undefined> {
    const { schema } = this.#tables
    const [row] = await this.#tables.read(`select record from ${schema}.session where id = $1`, [toId(id)])
    return row?.record == null ? undefined : (parseStored(row.record) as StoredSummary)
  }
}
