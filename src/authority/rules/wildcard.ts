/** A pattern cut at its stars. Compared piece by piece, so that no pattern takes longer than its length times the text's. */
export interface Wildcard {
  readonly pieces: readonly string[]
  /** Occurs in every text that matches: a cheap first look. */
  readonly longest: string
}

/** `*` is any run of characters, separators included; all else is literal. */
export function wildcard(pattern: string): Wildcard {
  const pieces = pattern.split('*')
  return { pieces, longest: pieces.reduce((longest, piece) => (piece.length > longest.length ? piece : longest)) }
}

/** Whether the whole text matches. */
export function matchesWildcard({ pieces }: Wildcard, text: string): boolean {
  const first = pieces[0]!
  if (pieces.length === 1) return text === first
  const last = pieces.at(-1)!
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  const end = text.length - last.length
  let at = first.length
  for (let i = 1; i < pieces.length - 1; i++) {
    const found = text.indexOf(pieces[i]!, at)
    if (found < 0) return false
    at = found + pieces[i]!.length
  }
  return at <= end
}

/** Whether some text matches both. */
export function overlaps(one: Wildcard, other: Wildcard): boolean {
  if (one.pieces.length === 1) return matchesWildcard(other, one.pieces[0]!)
  if (other.pieces.length === 1) return matchesWildcard(one, other.pieces[0]!)
  // With a star in each, whatever stands in the middle of both can be put one after the other.
  const [start, otherStart] = [one.pieces[0]!, other.pieces[0]!]
  const [end, otherEnd] = [one.pieces.at(-1)!, other.pieces.at(-1)!]
  const isStart = start.startsWith(otherStart) || otherStart.startsWith(start)
  return isStart && (end.endsWith(otherEnd) || otherEnd.endsWith(end))
}
