import { type FileText, isUtf16, textBeforeBinary, textOf, textWithLateNuls } from './file-text.ts'
import { createPager, keptOfLine, type SearchGaps, type SearchQuery, type SearchResult } from './query.ts'
import { compilePattern } from './regex.ts'

/** Searches given files, one by one in the order of the result. */
export interface TextSearch {
  addFile(path: string, bytes: Buffer): void
  result(gaps: SearchGaps): SearchResult
}

/** The search of ripgrep in JavaScript. Throws if the pattern is invalid or not supported. */
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

  /** Leaves out binary files, if ripgrep would notice that they are binary. */
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
      const file = readable(bytes)
      if (!file) return
      const { crossesLines } = pattern
      const search = { text: file.text, regex: pattern.regexFor(file.kind), crossesLines }
      if (crossesLines && file.text.includes('\0') && isSeenAsBinary(search)) return
      addMatches(path, search)
    },
    result: page.result,
  }
}

/** A matching line or a context line. */
export interface FoundLine {
  /** From 1. */
  readonly number: number
  readonly text: string
  readonly isMatch: boolean
}

/** The range of matching lines, without the last newline. */
interface Hit {
  readonly start: number
  readonly end: number
}

export interface LineSearch {
  readonly text: string
  /** With the flag `g`. */
  readonly regex: RegExp
  /** Whether a match may contain newlines. */
  readonly crossesLines: boolean
}

export function hasMatch(search: LineSearch): boolean {
  const { text, regex, crossesLines } = search
  if (crossesLines) return spansOf(search).next().done === false
  regex.lastIndex = 0
  return regex.test(text) && isOnLine(text, regex.lastIndex)
}

/** The number of matching lines, or of matches if these may span lines. */
export function countMatches(search: LineSearch): number {
  if (!search.crossesLines) return hitsOf(search).length
  let count = 0
  for (const _ of spansOf(search)) count++
  return count
}

/** The number of lines to show. */
export function countLines(search: LineSearch, before: number, after: number): number {
  const hits = hitsOf(search)
  if (before + after === 0 && !search.crossesLines) return hits.length
  return shownLines(search.text, hits, before, after).length
}

/** All matching lines with their context. */
export function findLines(search: LineSearch, before: number, after: number): FoundLine[] {
  const { text } = search
  return shownLines(text, hitsOf(search), before, after).map(({ start, end, number, isMatch }) => ({
    number,
    text: text.slice(start, Math.min(end, start + keptOfLine)),
    isMatch,
  }))
}

/** Whether a line to show contains a NUL. */
export function hasNulInLines(search: LineSearch, before: number, after: number): boolean {
  const { text } = search
  return shownLines(text, hitsOf(search), before, after).some(({ start, end }) => text.slice(start, end).includes('\0'))
}

/** Whether the first match contains a NUL. */
export function hasNulInFirstHit(search: LineSearch): boolean {
  const [first] = hitsOf(search)
  return first !== undefined && search.text.slice(first.start, first.end).includes('\0')
}

function hitsOf(search: LineSearch): Hit[] {
  return search.crossesLines ? mergedHits(search) : lineHits(search)
}

function lineHits({ text, regex }: LineSearch): Hit[] {
  const hits: Hit[] = []
  regex.lastIndex = 0
  // The end of the match tells the line, without a match object.
  while (regex.test(text) && isOnLine(text, regex.lastIndex)) {
    const hit = lineAround(text, regex.lastIndex)
    hits.push(hit)
    regex.lastIndex = hit.end + 1
    if (hit.end >= text.length) break
  }
  return hits
}

/** Matches over lines; those on the same or adjacent lines are merged. */
function mergedHits(search: LineSearch): Hit[] {
  const hits: Hit[] = []
  for (const { from, to } of spansOf(search)) {
    const { start } = lineAround(search.text, from)
    const { end } = lineAround(search.text, Math.max(from, to - 1))
    const last = hits.at(-1)
    if (last && start <= last.end + 1) hits[hits.length - 1] = { start: last.start, end: Math.max(end, last.end) }
    else hits.push({ start, end })
  }
  return hits
}

function* spansOf({ text, regex }: LineSearch): Generator<{ from: number; to: number }> {
  regex.lastIndex = 0
  for (let match = regex.exec(text); match; match = regex.exec(text)) {
    const from = match.index
    const to = regex.lastIndex
    if (!isOnLine(text, from)) return
    yield { from, to }
    // From inside a surrogate pair the search would go back to its beginning, and never end.
    if (to === from) regex.lastIndex = to + (text.codePointAt(to)! > 0xffff ? 2 : 1)
  }
}

/** There is no line after the last newline. */
function isOnLine(text: string, at: number): boolean {
  return at < text.length || (text.length > 0 && !text.endsWith('\n'))
}

function lineAround(text: string, at: number): Hit {
  const start = at === 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1
  const end = text.indexOf('\n', at)
  return { start, end: end < 0 ? text.length : end }
}

interface ShownLine extends Hit {
  readonly number: number
  readonly isMatch: boolean
}

function shownLines(text: string, hits: readonly Hit[], before: number, after: number): ShownLine[] {
  const lines: ShownLine[] = []
  /** The number of the line that begins at `next`. */
  let number = 1
  let next = 0
  const add = (until: number, isMatch: boolean): void => {
    while (next <= until && next < text.length) {
      const { end } = lineAround(text, next)
      lines.push({ start: next, end, number: number++, isMatch })
      next = end + 1
    }
  }
  for (const [i, { start, end }] of hits.entries()) {
    const from = Math.max(next, stepBack(text, start, before))
    number += newlines(text, next, from)
    next = from
    add(start - 1, false)
    add(end, true)
    add(Math.min(stepOn(text, next, after), (hits[i + 1]?.start ?? Number.POSITIVE_INFINITY) - 1), false)
  }
  return lines
}

/** The start of the line that is `lines` lines before. */
function stepBack(text: string, start: number, lines: number): number {
  let at = start
  for (let i = 0; i < lines && at > 0; i++) at = lineAround(text, at - 1).start
  return at
}

/** The start of the last of the next `lines` lines; before `start` if there is none. */
function stepOn(text: string, start: number, lines: number): number {
  let at = start - 1
  for (let i = 0; i < lines; i++) {
    const begin = i === 0 ? start : lineAround(text, at).end + 1
    if (begin >= text.length) break
    at = begin
  }
  return at
}

function newlines(text: string, from: number, to: number): number {
  let count = 0
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1)) count++
  return count
}
