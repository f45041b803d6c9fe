import type { LogEntry } from '../src/core/log.ts'
import type { EntryRange, SessionQuery, SessionStore, SessionSummary } from '../src/core/store.ts'
import { createMemoryStore } from '../src/sessions/memory-store.ts'
import { entriesInRange } from '../src/sessions/session-query.ts'
import { withSpill } from '../src/sessions/spill.ts'
import { applyEntries, emptySummary, summaryOf } from '../src/sessions/stored-summary.ts'
import { storeContract } from '../src/testing/index.ts'

/** The contract for one memory store that several store instances share, each behind the wrapper. */
export function contractOf(wrap: (good: SessionStore) => SessionStore) {
  let shared: SessionStore
  return storeContract(
    (clock) => {
      shared = createMemoryStore({ clock })
      return wrap(shared)
    },
    { again: () => wrap(shared) },
  )
}

export function retold(good: SessionStore, retell: (summary: SessionSummary) => SessionSummary): SessionStore {
  return {
    ...good,
    async find(id) {
      const summary = await good.find(id)
      return summary && retell(summary)
    },
  }
}

export function asked(good: SessionStore, ask: (query: SessionQuery) => SessionQuery): SessionStore {
  return { ...good, list: (query = {}) => good.list(ask(query)) }
}

export function ranged(good: SessionStore, change: (range: EntryRange) => EntryRange): SessionStore {
  return { ...good, read: (id, range = {}) => good.read(id, change(range)) }
}

/** Computes summaries from the entries of the appends since it last forgot. */
export function forgetful(
  good: SessionStore,
  { forgetsAt }: { forgetsAt: 'append' | 'lease' | 'never' },
): SessionStore {
  const known = new Map<string, LogEntry[]>()
  return {
    ...good,
    async append(id, entries, fence) {
      await good.append(id, entries, fence)
      known.set(id, [...(forgetsAt === 'append' ? [] : (known.get(id) ?? [])), ...entries])
    },
    async lease(id, request) {
      if (forgetsAt === 'lease' && request.epoch === undefined) known.delete(id)
      return good.lease(id, request)
    },
    async find(id) {
      const { isHeld = false } = (await good.find(id)) ?? {}
      return summaryOf(applyEntries(emptySummary, known.get(id) ?? [], 1), { id, isHeld, mail: 'none' })
    },
  }
}

/** Keeps large entries as blobs, with some methods as they were without that. */
export function spilling(good: SessionStore, bare: Partial<SessionStore>): SessionStore {
  const store = withSpill({
    ...good,
    async append(id, entries, fence, { blobs }) {
      for (const { bytes } of blobs) await good.blobs(id).put(bytes)
      await good.append(id, entries, fence)
    },
  })
  return { ...store, ...bare }
}

export function withBlobsApart(good: SessionStore): SessionStore {
  const apart = createMemoryStore()
  return {
    ...good,
    blobs: (id) => ({
      ...apart.blobs(id),
      async put(bytes) {
        await apart.lease(id, { owner: 'blobs', ttlMs: 1, create: true })
        return apart.blobs(id).put(bytes)
      },
    }),
  }
}

export async function ownBlob(store: SessionStore, id: string, name: string): Promise<Uint8Array | undefined> {
  return (await store.blobs(id).names()).includes(name) ? store.blobs(id).get(name) : undefined
}

/** Forks that name their original and the number of entries that they share, and look there whenever they are read. */
export function byName(
  good: SessionStore,
  { sharesAll = false, levels = 9 }: { readonly sharesAll?: boolean; readonly levels?: number },
): SessionStore {
  const bases = new Map<string, { readonly base: string; readonly head: number }>()
  async function readAll(id: string, level: number): Promise<readonly LogEntry[]> {
    const { base, head = 0 } = bases.get(id) ?? {}
    const shared = base === undefined || level === 0 ? [] : await readAll(base, level - 1)
    return [...(sharesAll ? shared : shared.slice(0, head)), ...(await good.read(id))]
  }
  return {
    ...good,
    async append(id, entries, { base, head, ...fence }) {
      if (base !== undefined) bases.set(id, { base, head })
      await good.append(id, entries, { ...fence, head: head - (bases.get(id)?.head ?? 0) })
    },
    read: async (id, range) => entriesInRange(await readAll(id, levels), range),
  }
}
