import { createPager } from './pager.ts'
import { pathFilter } from './path-filter.ts'
import type { SearchGaps, SearchPlace, SearchQuery, SearchResult } from './query.ts'
import { typeFilter } from './type-filter.ts'
import { walk } from './walk.ts'

export interface TreeLimits {
  /** Files looked at. */
  readonly files: number
  /** Of one file. */
  readonly bytes: number
}

export const treeLimits: TreeLimits = { files: 1_000_000, bytes: 64 * 1024 * 1024 }

/** What is not searched, while it is being counted. */
export type CountedGaps = { -readonly [Key in keyof SearchGaps]: SearchGaps[Key] }

export interface Tree {
  readonly query: SearchQuery
  readonly place: SearchPlace
  readonly limits: TreeLimits
  readonly gaps: CountedGaps
}

/** Lists files of this machine without ripgrep. Everything in it waits: it belongs into a thread of its own. */
export function listTree(query: SearchQuery, place: SearchPlace, limits = treeLimits): SearchResult {
  const gaps: CountedGaps = {}
  const page = createPager(query)
  eachFile({ query, place, limits, gaps }, (path) => page.add({ path }))
  return page.result(gaps)
}

/** Goes through the files that are meant, as long as the limits allow. */
export function eachFile({ query, place, limits, gaps }: Tree, use: (path: string) => void): void {
  const until = performance.now() + query.limitMs
  const { acceptsFile, entersFolder } = pathFilter(query.filter)
  const hasType = typeFilter(query.type)
  let files = 0
  walk({
    root: place.path,
    depth: query.filter.depth,
    entersFolder,
    onUnreadable: () => countUnreadable(gaps),
    onFile(path, name) {
      if (++files > limits.files) gaps.stopped = 'files'
      else if (performance.now() > until) gaps.stopped = 'time'
      if (gaps.stopped) return false
      if (hasType(name) && acceptsFile(path)) use(path)
      return true
    },
  })
}

export function countUnreadable(gaps: CountedGaps): void {
  gaps.unreadable = (gaps.unreadable ?? 0) + 1
}
