import type { ToolCheck, ToolContext } from '../../core/tool.ts'
import type { PathFilterSpec } from './path-filter.ts'

/** Where a search looks for files. */
export type SearchContext = Pick<ToolContext, 'execution' | 'handle' | 'signal'>

/** A search request; plain data, so that it can be sent to another thread. */
export interface SearchQuery {
  /** `list` lists files without reading them. */
  readonly mode: 'content' | 'files' | 'count' | 'list'
  readonly pattern: string
  readonly ignoreCase: boolean
  readonly multiline: boolean
  /** Lines shown around each matching one. */
  readonly before: number
  readonly after: number
  readonly filter: PathFilterSpec
  /** One of ripgrep's file types. */
  readonly type?: string | undefined
  /** The page: how many entries to skip and to return. */
  readonly skip: number
  readonly take: number
  /** Milliseconds after which the search ends with what it has found. */
  readonly limitMs: number
}

/** The folder or file to search: absolute, links resolved, and known to exist. */
export interface SearchRoot {
  readonly path: string
  readonly kind: 'file' | 'folder'
}

/** A matching line or file. Its path is relative to the root, and empty if the root is that file. */
export interface SearchEntry {
  readonly path: string
  readonly line?: number
  readonly text?: string
  /** False for a context line. */
  readonly isMatch?: boolean
  readonly count?: number
}

export interface SearchResult {
  readonly entries: readonly SearchEntry[]
  /** The number of entries on all pages. */
  readonly total: number
  /** The sum of all counts, in mode `count`. */
  readonly sum: number
  /** What was not searched, and why. */
  readonly gaps: SearchGaps
}

export interface SearchGaps {
  /** Files and folders that could not be read. */
  readonly unreadable?: number
  /** Files that exceed the size limit. */
  readonly tooLarge?: number
  /** The search ended early; `total` counts only what was found by then. */
  readonly stopped?: 'time' | 'files'
  /** The root is a binary file. */
  readonly binary?: boolean
}

/** Characters; longer lines are cut. */
export const maxLineLength = 500

/** UTF-16 units to keep of a line: one character more, and each may take two units. */
export const keptOfLine = (maxLineLength + 1) * 2

/** Entries per page by default. */
const defaultPage = 250
/** The maximum of entries per page. */
const maxPageSize = 20_000
const maxOffset = 200_000

export const pageProperties = {
  head_limit: {
    type: 'integer',
    description: `How many entries to show. Default ${defaultPage}; 0 for all, up to ${maxPageSize}.`,
  },
  offset: { type: 'integer', description: 'How many entries to skip, for the next page. Default 0.' },
} as const

export interface PageInput {
  readonly head_limit?: number
  readonly offset?: number
}

export function pageOf({ head_limit = defaultPage, offset = 0 }: PageInput): { skip: number; take: number } {
  return { skip: offset, take: head_limit === 0 ? maxPageSize : Math.min(head_limit, maxPageSize) }
}

/** Refuses numbers that are not whole, negative or too large. */
export function checkNumbers(input: Record<string, unknown>, names: readonly string[]): ToolCheck | undefined {
  for (const name of names) {
    const value = input[name]
    if (typeof value === 'number' && !(Number.isSafeInteger(value) && value >= 0))
      return { valid: false, error: `"${name}" must be a whole number, and not negative; got ${value}` }
  }
  const { offset } = input
  if (typeof offset === 'number' && offset > maxOffset)
    return { valid: false, error: `"offset" is at most ${maxOffset}; search for less instead` }
  return undefined
}

/** The error for an invalid pattern. */
export function badPattern(pattern: string, reason: string): string {
  return `"${pattern}" is no valid pattern: ${reason}`
}

/** The error for an unknown file type. */
export function unknownType(type: string): string {
  return `there is no file type "${type}"; use glob instead, such as "*.${type.replace(/^[*.]+/, '')}"`
}

/** The error for a newline in a pattern for single lines. */
export const newlineInPattern = 'the literal "\\n" is not allowed; set "multiline" to true for matches over lines'

/** Keeps the requested page of entries, which come in order, and counts the others. */
interface Pager {
  add(entry: SearchEntry): void
  /** Counts entries after the page. */
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
