import type { SearchEntry, SearchGaps, SearchQuery, SearchResult } from './query.ts'

/** Keeps the wanted page of entries that come in their order, and counts the others. */
export interface Pager {
  add(entry: SearchEntry): void
  /** Entries that come after the page. */
  addUnseen(count: number): void
  isFull(): boolean
  result(gaps: SearchGaps): SearchResult
}

export function createPager({ skip, take }: Pick<SearchQuery, 'skip' | 'take'>): Pager {
  const entries: SearchEntry[] = []
  let total = 0
  let sum = 0
  return {
    add(entry) {
      if (total >= skip && total < skip + take) entries.push(entry)
      total++
      sum += entry.count ?? 0
    },
    addUnseen(count) {
      total += count
    },
    isFull: () => total >= skip + take,
    result: (gaps) => ({ entries, total, sum, gaps }),
  }
}
