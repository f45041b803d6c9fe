import type { Places } from './match.ts'
import { alwaysQuick, type OccurrenceOptions } from './occurrences.ts'

/**
 * Where lines stand in a text of any line endings, without a copy of it with other endings: looks for the longest of them,
 * and then at the lines around it. `undefined` when that is no good way: none says anything, or it is everywhere.
 */
export function placesByLines(
  text: string,
  wanted: string,
  { overlapping, most }: OccurrenceOptions,
): Places | undefined {
  const lines = wanted.split('\n')
  const pivot = lines.reduce((longest, line, i) => (line.length > lines[longest]!.length ? i : longest), 0)
  const sought = lines[pivot]!.slice(0, alwaysQuick)
  if (sought === '') return undefined
  const starts: number[] = []
  const ends: number[] = []
  let left = 2 * text.length
  for (let at = text.indexOf(sought); at >= 0 && starts.length < most; at = text.indexOf(sought, at + 1)) {
    left -= wanted.length
    if (left < 0) return undefined
    const end = endOfLines(text, at, lines, pivot)
    const start = end < 0 ? -1 : startOfLines(text, at, lines, pivot)
    if (start < 0 || (!overlapping && start < (ends.at(-1) ?? 0))) continue
    starts.push(start)
    ends.push(end)
  }
  return { starts, endOf: (index) => ends[index]! }
}

/** Where the lines end whose line `from` begins here; -1 when they are not here. */
function endOfLines(text: string, at: number, lines: readonly string[], from: number): number {
  for (let i = from; i < lines.length; i++) {
    if (i > from) {
      const length = endingAfter(text, at)
      if (length === 0) return -1
      at += length
    }
    if (!text.startsWith(lines[i]!, at)) return -1
    at += lines[i]!.length
  }
  return at
}

/** Where the lines begin whose line `to` begins here; -1 when those before it are not here. */
function startOfLines(text: string, at: number, lines: readonly string[], to: number): number {
  for (let i = to - 1; i >= 0; i--) {
    const length = endingBefore(text, at)
    at -= length + lines[i]!.length
    if (length === 0 || at < 0 || !text.startsWith(lines[i]!, at)) return -1
  }
  return at
}

const [newline, carriage] = [10, 13]

function endingAfter(text: string, at: number): number {
  const code = text.charCodeAt(at)
  if (code === carriage) return text.charCodeAt(at + 1) === newline ? 2 : 1
  return code === newline ? 1 : 0
}

function endingBefore(text: string, at: number): number {
  const code = text.charCodeAt(at - 1)
  if (code === newline) return text.charCodeAt(at - 2) === carriage ? 2 : 1
  return code === carriage ? 1 : 0
}
