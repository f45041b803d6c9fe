import { type FileText, isUtf16, textBeforeBinary, textOf, textWithLateNuls } from './file-text.ts'
import { fileTypes } from './file-types.ts'
import { globSource } from './glob-pattern.ts'
import {
  countLines,
  countMatches,
  findLines,
  hasMatch,
  hasNulInFirstHit,
  hasNulInLines,
  type LineSearch,
} from './grep-lines.ts'
import { unknownType } from './problems.ts'
import type { SearchEntry, SearchGaps, SearchQuery, SearchResult } from './query.ts'
import { compilePattern } from './regex.ts'

/** Searches files that are given to it one by one, in the order of the result. */
export interface TextSearch {
  addFile(path: string, bytes: Buffer): void
  /** For a list of files, which nobody looks into. */
  addPath(path: string): void
  result(gaps: SearchGaps): SearchResult
}

/** What ripgrep does in another process, in JavaScript. Throws a `PatternProblem` when it cannot. */
export function createTextSearch(query: SearchQuery): TextSearch {
  const { mode, skip, take, before, after, multiline, ignoreCase } = query
  const pattern = mode === 'list' ? undefined : compilePattern(query.pattern, { ignoreCase, multiline })
  const required = Buffer.from(pattern?.required ?? '')
  const entries: SearchEntry[] = []
  let total = 0
  let sum = 0

  function add(entry: SearchEntry): void {
    if (total >= skip && total < skip + take) entries.push(entry)
    total++
  }

  function addLines(path: string, search: LineSearch): void {
    if (total >= skip + take) {
      total += countLines(search, before, after)
      return
    }
    for (const { number, text, isMatch } of findLines(search, before, after)) add({ path, line: number, text, isMatch })
  }

  function addFileWithMatches(path: string, search: LineSearch): void {
    const count = mode === 'count' ? countMatches(search) : 0
    if (mode === 'count' ? count === 0 : !hasMatch(search)) return
    sum += count
    add(mode === 'count' ? { path, count } : { path })
  }

  /** Binary files are left out, as far as ripgrep notices that they are binary. */
  function readable(bytes: Buffer): FileText | undefined {
    if (pattern?.crossesLines) return textWithLateNuls(bytes)
    return mode === 'files' ? textBeforeBinary(bytes) : textOf(bytes)
  }

  function isSeenAsBinary(search: LineSearch): boolean {
    if (mode === 'files') return hasNulInFirstHit(search)
    return mode === 'content' ? hasNulInLines(search, before, after) : hasNulInLines(search, 0, 0)
  }

  return {
    addFile(path, bytes) {
      if (!pattern || (required.length > 0 && bytes.indexOf(required) < 0 && !isUtf16(bytes))) return
      const found = readable(bytes)
      if (!found) return
      const search = {
        text: found.text,
        regex: pattern.regexFor(found.kind),
        crossesLines: pattern.crossesLines,
      }
      if (pattern.crossesLines && found.text.includes('\0') && isSeenAsBinary(search)) return
      if (mode === 'content') addLines(path, search)
      else addFileWithMatches(path, search)
    },
    addPath: (path) => add({ path }),
    result: (gaps) => ({ entries, total, sum, gaps }),
  }
}

/** Whether a name is that of a file of a type. */
export function typeFilter(type: string | undefined): (name: string) => boolean {
  if (type === undefined) return () => true
  const globs = Object.hasOwn(fileTypes, type) ? fileTypes[type] : undefined
  if (globs === undefined) throw new Error(unknownType(type))
  const regex = new RegExp(
    globs
      .split(' ')
      .map((glob) => `^${globSource(glob)}$`)
      .join('|'),
  )
  return (name) => regex.test(name)
}
