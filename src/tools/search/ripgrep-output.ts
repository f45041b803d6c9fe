import { copied, FirstInOrder } from './order.ts'
import { pathFilter } from './path-filter.ts'
import { keptOfLine, type SearchEntry, type SearchGaps, type SearchQuery, type SearchResult } from './query.ts'

/** Parses the output of ripgrep as it comes, in any order, and keeps only what the requested page may need. */
interface RipgrepOutput {
  take(text: string): void
  result(gaps: SearchGaps): SearchResult
}

export function ripgrepOutput(query: SearchQuery): RipgrepOutput {
  if (query.mode === 'content') return contentOutput(query)
  return query.mode === 'count' ? countOutput(query) : pathOutput(query)
}

const wantedOf = ({ skip, take }: SearchQuery): number => skip + take

/** Paths, each followed by a NUL. */
function pathOutput(query: SearchQuery): RipgrepOutput {
  const { acceptsFile, ending } = pathFilter(query.filter)
  const first = new FirstInOrder<undefined>(wantedOf(query))
  let rest = ''
  let total = 0
  return {
    take(chunk) {
      const text = rest + chunk
      let from = 0
      for (let to = text.indexOf('\0'); to >= 0; from = to + 1, to = text.indexOf('\0', from)) {
        if (ending !== undefined && !text.endsWith(ending, to)) continue
        const path = text.slice(from + './'.length, to)
        if (ending === undefined && !acceptsFile(path)) continue
        total++
        first.add(path, undefined)
      }
      rest = text.slice(from)
    },
    result(gaps) {
      const entries = first.sorted().map(({ path }) => ({ path }))
      return { entries: entries.slice(query.skip), total, sum: 0, gaps }
    },
  }
}

/** A path, a NUL, a number and a newline per file. */
function countOutput(query: SearchQuery): RipgrepOutput {
  const { acceptsFile } = pathFilter(query.filter)
  const first = new FirstInOrder<number>(wantedOf(query))
  let rest = ''
  let total = 0
  let sum = 0
  return {
    take(chunk) {
      const text = rest + chunk
      let from = 0
      for (;;) {
        const nul = text.indexOf('\0', from)
        const to = nul < 0 ? -1 : text.indexOf('\n', nul)
        if (to < 0) break
        const path = text.slice(from + './'.length, nul)
        const count = Number(text.slice(nul + 1, to))
        from = to + 1
        if (!acceptsFile(path)) continue
        total++
        sum += count
        first.add(path, count)
      }
      rest = text.slice(from)
    },
    result(gaps) {
      const entries = first.sorted().map(({ path, item }) => ({ path, count: item }))
      return { entries: entries.slice(query.skip), total, sum, gaps }
    },
  }
}

/** The output for one file. */
interface Block {
  readonly path: string
  readonly isKept: boolean
  lines: number
  kept: string
  /** Filtered out, or found to be binary after its first matches. */
  isLeftOut: boolean
}

/**
 * A path and a NUL, then lines that begin with their number, or a dash between lines that are not adjacent; an empty line
 * before the next path.
 */
function contentOutput(query: SearchQuery): RipgrepOutput {
  const { acceptsFile } = pathFilter(query.filter)
  const max = wantedOf(query)
  const first = new FirstInOrder<string>(max)
  let rest = ''
  let total = 0
  let block: Block | undefined

  function begin(path: string): Block {
    const isLeftOut = !acceptsFile(path)
    return { path, isKept: !isLeftOut && first.wants(path), lines: 0, kept: '', isLeftOut }
  }

  function end({ path, isKept, lines, kept, isLeftOut }: Block): void {
    if (isLeftOut) return
    total += lines
    if (isKept) first.add(path, copied(kept))
  }

  /** Reads whole lines of a block; returns the position where it stopped. */
  function readLines(of: Block, text: string, start: number): number {
    let from = start
    let keptTo = start
    for (let to = text.indexOf('\n', from); to >= 0; to = text.indexOf('\n', from)) {
      const sign = text.charCodeAt(from)
      if (to === from) {
        block = undefined
        break
      }
      from = to + 1
      if (isDigit(sign)) of.lines++
      else if (sign === dot) of.isLeftOut = true
      if (of.lines <= max) keptTo = from
    }
    if (of.isKept) of.kept += text.slice(start, keptTo)
    if (block) return from
    end(of)
    return from + 1
  }

  return {
    take(chunk) {
      const text = rest + chunk
      let from = 0
      for (;;) {
        if (!block) {
          const nul = text.indexOf('\0', from)
          if (nul < 0) break
          block = begin(text.slice(from + './'.length, nul))
          from = nul + 1
        }
        from = readLines(block, text, from)
        if (block) break
      }
      rest = text.slice(from)
    },
    result(gaps) {
      if (block) end(block)
      const binary = !block && rest.includes(': binary file matches')
      const entries = pageOf(first.sorted(), query)
      return { entries, total, sum: 0, gaps: binary ? { ...gaps, binary } : gaps }
    },
  }
}

const dot = 0x2e
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39

function pageOf(blocks: readonly { path: string; item: string }[], { skip, take }: SearchQuery): SearchEntry[] {
  const entries: SearchEntry[] = []
  let at = 0
  for (const { path, item } of blocks) {
    for (const line of item.split('\n')) {
      const [head, number, sign] = /^(\d+)([:-])/.exec(line) ?? []
      if (head === undefined) continue
      if (at >= skip)
        entries.push({
          path,
          line: Number(number),
          text: line.slice(head.length, head.length + keptOfLine),
          isMatch: sign === ':',
        })
      if (++at >= skip + take) return entries
    }
  }
  return entries
}
