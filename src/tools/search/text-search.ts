import { type FileText, isUtf16, textBeforeBinary, textOf, textWithLateNuls } from './file-text.ts'
import {
  countLines,
  countMatches,
  findLines,
  hasMatch,
  hasNulInFirstHit,
  hasNulInLines,
  type LineSearch,
} from './grep-lines.ts'
import { createPager } from './pager.ts'
import type { SearchGaps, SearchQuery, SearchResult } from './query.ts'
import { compilePattern } from './regex.ts'

/** Searches files that are given to it one by one, in the order of the result. */
export interface TextSearch {
  addFile(path: string, bytes: Buffer): void
  result(gaps: SearchGaps): SearchResult
}

/** What ripgrep does in another process, in JavaScript. Throws when it does not understand the pattern. */
export function createTextSearch(query: SearchQuery): TextSearch {
  const { mode, before, after } = query
  const pattern = compilePattern(query.pattern, query)
  const required = Buffer.from(pattern.required)
  const page = createPager(query)

  function addMatches(path: string, search: LineSearch): void {
    if (mode === 'content') {
      if (page.isFull()) page.addUnseen(countLines(search, before, after))
      else
        for (const { number, text, isMatch } of findLines(search, before, after))
          page.add({ path, line: number, text, isMatch })
    } else if (mode === 'files') {
      if (hasMatch(search)) page.add({ path })
    } else {
      const count = countMatches(search)
      if (count > 0) page.add({ path, count })
    }
  }

  /** Binary files are left out, as far as ripgrep notices that they are binary. */
  function readable(bytes: Buffer): FileText | undefined {
    if (pattern.crossesLines) return textWithLateNuls(bytes)
    return mode === 'files' ? textBeforeBinary(bytes) : textOf(bytes)
  }

  function isSeenAsBinary(search: LineSearch): boolean {
    if (mode === 'files') return hasNulInFirstHit(search)
    return mode === 'content' ? hasNulInLines(search, before, after) : hasNulInLines(search, 0, 0)
  }

  return {
    addFile(path, bytes) {
      if (required.length > 0 && bytes.indexOf(required) < 0 && !isUtf16(bytes)) return
      const found = readable(bytes)
      if (!found) return
      const { crossesLines } = pattern
      const search = { text: found.text, regex: pattern.regexFor(found.kind), crossesLines }
      if (crossesLines && found.text.includes('\0') && isSeenAsBinary(search)) return
      addMatches(path, search)
    },
    result: page.result,
  }
}
