import type { ToolCheck } from '../../core/tool.ts'
import type { PathFilterSpec } from './path-filter.ts'

/** What to look for; plain data, so that it can go to another thread. */
export interface SearchQuery {
  /** `list` lists files without looking into them. */
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
  /** Which entries are wanted, of all that are found. */
  readonly skip: number
  readonly take: number
  /** Milliseconds after which the search is given up with what it has. */
  readonly limitMs: number
}

/** Where to look: absolute, links resolved, and known to be there. */
export interface SearchRoot {
  readonly path: string
  readonly kind: 'file' | 'folder'
}

/** A line, or a file: its path is relative to the place, and empty when the place is that file. */
export interface SearchEntry {
  readonly path: string
  readonly line?: number
  readonly text?: string
  /** The line matches, and is not only shown around one that does. */
  readonly isMatch?: boolean
  readonly count?: number
}

export interface SearchResult {
  readonly entries: readonly SearchEntry[]
  /** Of entries, on all pages. */
  readonly total: number
  /** Of all counts, when counting. */
  readonly sum: number
  /** What was not searched, and why. */
  readonly gaps: SearchGaps
}

export interface SearchGaps {
  /** Files and folders that could not be read. */
  readonly unreadable?: number
  /** Files over the walker's limit. */
  readonly tooLarge?: number
  /** The search ended early; `total` counts only what was found by then. */
  readonly stopped?: 'time' | 'files'
  /** The place is a file that is not text. */
  readonly binary?: boolean
}

/** Characters; longer lines are cut when they are shown. */
export const longestLine = 500

/** What has to be kept of a line: one character more, and each may take two units. */
export const keptOfLine = (longestLine + 1) * 2

/** Entries on a page unless the model says otherwise. */
export const defaultPage = 250
/** Entries on a page at most, also when all are wanted. */
export const largestPage = 20_000
/** Beyond it a search should be narrower. */
const largestOffset = 200_000

export const pageProperties = {
  head_limit: {
    type: 'integer',
    description: `How many entries to show. Default ${defaultPage}; 0 for all, up to ${largestPage}.`,
  },
  offset: { type: 'integer', description: 'How many entries to skip, for the next page. Default 0.' },
} as const

export interface PageInput {
  readonly head_limit?: number
  readonly offset?: number
}

export function pageOf({ head_limit = defaultPage, offset = 0 }: PageInput): { skip: number; take: number } {
  return { skip: offset, take: head_limit === 0 ? largestPage : Math.min(head_limit, largestPage) }
}

/** Refuses numbers that mean nothing. */
export function checkNumbers(input: Record<string, unknown>, names: readonly string[]): ToolCheck | undefined {
  for (const name of names) {
    const value = input[name]
    if (typeof value === 'number' && !(Number.isSafeInteger(value) && value >= 0))
      return { valid: false, error: `"${name}" must be a whole number, and not negative; got ${value}` }
  }
  const { offset } = input
  if (typeof offset === 'number' && offset > largestOffset)
    return { valid: false, error: `"offset" is at most ${largestOffset}; search for less instead` }
  return undefined
}

/** What is wrong with a pattern, for whoever wrote it. */
export function badPattern(pattern: string, reason: string): string {
  return `"${pattern}" is no valid pattern: ${reason}`
}

/** What to say of a file type that nobody knows. */
export function unknownType(type: string): string {
  return `there is no file type "${type}"; use glob instead, such as "*.${type.replace(/^[*.]+/, '')}"`
}

/** A newline in a pattern for single lines. */
export const newlineInPattern = 'the literal "\\n" is not allowed; set "multiline" to true for matches over lines'

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
