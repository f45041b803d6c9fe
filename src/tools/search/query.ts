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
export interface SearchPlace {
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
