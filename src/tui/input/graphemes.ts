import { graphemes } from '../terminal/text-width.ts'

/** Where grapheme clusters begin and end in a line: what a person sees as single characters. */

/** The end of the cluster that begins at `at` or contains it. */
export function nextGrapheme(line: string, at: number): number {
  if (at >= line.length) return line.length
  if (isEdge(line, at + 1)) return at + 1
  const { index, segment } = clusterAt(line, at)
  return index + segment.length
}

/** The start of the cluster that ends at `at` or contains it. */
export function previousGrapheme(line: string, at: number): number {
  if (at <= 1) return 0
  return isEdge(line, at - 1) ? at - 1 : clusterAt(line, at - 1).index
}

/** `at`, or the end of the cluster if it lies inside of one. */
export function graphemeEdge(line: string, at: number): number {
  if (at <= 0 || at >= line.length) return Math.max(0, Math.min(at, line.length))
  if (isEdge(line, at)) return at
  const { index, segment } = clusterAt(line, at)
  return index === at ? at : index + segment.length
}

/** Surely between two clusters: characters before U+0300, the first accent, never combine with each other. */
function isEdge(line: string, at: number): boolean {
  return at === 0 || at >= line.length || (line.charCodeAt(at - 1) < 0x300 && line.charCodeAt(at) < 0x300)
}

/** Of a long line only the part around `at` is segmented, from an edge on, unless the cluster is longer than that. */
function clusterAt(line: string, at: number): { readonly index: number; readonly segment: string } {
  let start = at
  while (start > 0 && at - start < window && !isEdge(line, start)) start--
  const from = isEdge(line, start) ? start : 0
  const end = Math.min(line.length, at + window)
  const near = graphemes()
    .segment(line.slice(from, end))
    .containing(at - from)
  if (near && (end === line.length || from + near.index + near.segment.length < end))
    return { index: from + near.index, segment: near.segment }
  return graphemes().segment(line).containing(at)!
}

/** Longer than most clusters that a person types. */
const window = 64
