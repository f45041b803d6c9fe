import { visibleName, visibleText } from '../../platform/visible-text.ts'
import {
  keptOfLine,
  maxLineLength,
  type SearchEntry,
  type SearchGaps,
  type SearchQuery,
  type SearchResult,
  type SearchRoot,
} from './query.ts'
import { joinPath } from './searcher.ts'

interface SearchRequest {
  readonly query: SearchQuery
  /** The requested path, with the folders of the globs. */
  readonly path: string
  readonly root: SearchRoot
  readonly lineNumbers: boolean
  /** The noun for one entry. */
  readonly unit: 'line' | 'file'
  readonly nothing: string
}

/** A result as text for the model: entries, and notes in parentheses. */
export function formatResult(result: SearchResult, asked: SearchRequest): string {
  const { entries, total, gaps } = result
  const notes = [...pageNotes(result, asked), ...gapNotes(gaps, asked)]
  if (total === 0 && notes.length === 0) return asked.nothing
  const names = new Map<string, string>()
  for (const { path } of entries) if (!names.has(path)) names.set(path, pathOf(path, asked))
  const text = total === 0 ? asked.nothing : shownEntries(entries, names, asked)
  if ([...names.values()].some((name) => name !== visibleName(name))) notes.push(escapedNames)
  return notes.length > 0 ? `${text}${text && '\n\n'}(${notes.join('; ')})` : text
}

const escapedNames = 'control characters in names are shown escaped'

const pathOf = (path: string, { root, path: asked }: SearchRequest): string =>
  root.kind === 'file' ? asked : joinPath(asked, path)

function shownEntries(
  entries: readonly SearchEntry[],
  names: ReadonlyMap<string, string>,
  asked: SearchRequest,
): string {
  const { query, lineNumbers } = asked
  const lines: string[] = []
  let previous: SearchEntry | undefined
  for (const entry of entries) {
    const path = visibleName(names.get(entry.path)!)
    if (query.before + query.after > 0 && previous && !isNext(previous, entry)) lines.push('--')
    previous = entry
    if (entry.text === undefined) lines.push(entry.count === undefined ? path : `${path}:${entry.count}`)
    else {
      const sign = entry.isMatch ? ':' : '-'
      lines.push(`${path}${sign}${lineNumbers ? `${entry.line}${sign}` : ''}${shownLine(entry.text)}`)
    }
  }
  return lines.join('\n')
}

function isNext(previous: SearchEntry, entry: SearchEntry): boolean {
  return entry.path === previous.path && entry.line === previous.line! + 1
}

function shownLine(line: string): string {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line
  if (text.length <= maxLineLength) return visibleText(text)
  const characters = Array.from(text.slice(0, keptOfLine))
  if (characters.length <= maxLineLength) return visibleText(text)
  return `${visibleText(characters.slice(0, maxLineLength).join(''))} … [line cut]`
}

/** Which page this is, and how to get the next one. */
function pageNotes({ entries, total, sum, gaps }: SearchResult, { query, unit }: SearchRequest): string[] {
  const { skip, mode } = query
  const all = `${gaps.stopped ? 'at least ' : ''}${total}`
  const notes: string[] = []
  if (total > 0 && entries.length === 0) return [`nothing at offset ${skip}: there are ${all} ${unit}s in all`]
  const last = skip + entries.length
  if (mode === 'count' && total > 0) notes.push(`${gaps.stopped ? 'at least ' : ''}${sum} in ${total} ${plural(total)}`)
  if (skip > 0 || last < total)
    notes.push(`${unit}${entries.length === 1 ? ` ${last}` : `s ${skip + 1}-${last}`} of ${all}`)
  if (last < total) notes.push(`go on with offset=${last}`)
  return notes
}

const plural = (files: number): string => (files === 1 ? 'file' : 'files')

function gapNotes({ unreadable, tooLarge, stopped, binary }: SearchGaps, { query, path }: SearchRequest): string[] {
  const notes: string[] = []
  if (binary) notes.push(`"${visibleName(path)}" is a binary file, in which nothing is searched`)
  if (unreadable)
    notes.push(`${unreadable} ${unreadable === 1 ? 'file or folder' : 'files or folders'} could not be read`)
  if (tooLarge) notes.push(`left out: ${tooLarge} ${plural(tooLarge)} too large to search without ripgrep`)
  if (stopped === 'time')
    notes.push(`stopped after ${query.limitMs / 1000} seconds, so this is not all: search a smaller folder, or by glob`)
  if (stopped === 'files')
    notes.push('there are too many files, and not all were searched: search a smaller folder, or by glob')
  return notes
}
