/** A pattern split at its stars. Matching takes at most the product of both lengths. */
export interface Wildcard {
  readonly pieces: readonly string[]
  /** Occurs in every matching text: a cheap first test. */
  readonly longest: string
}

/** `*` matches any characters, including separators; all else is literal. */
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
  // If both have a star, their middles can be placed one after the other.
  const [start, otherStart] = [one.pieces[0]!, other.pieces[0]!]
  const [end, otherEnd] = [one.pieces.at(-1)!, other.pieces.at(-1)!]
  const isStart = start.startsWith(otherStart) || otherStart.startsWith(start)
  return isStart && (end.endsWith(otherEnd) || otherEnd.endsWith(end))
}

/** Whether a shell would expand this word to file names. */
export const isShellGlob = (text: string): boolean => /[*?[]/.test(text)

/** Whether a glob may match a file name. A leading wildcard never matches a dot. */
export function mayBeName(glob: string, name: string): boolean {
  const first = glob[0]!
  if (name.startsWith('.') && first !== '.') return false
  return matchesWildcard(widened(glob), name)
}

/** Whether a glob may match a path. A star does not match a slash. */
export function mayBePath(glob: string, path: string): boolean {
  const [globs, names] = [glob.split('/'), path.split('/')]
  return (
    globs.length === names.length && globs.every((part, i) => part === names[i] || mayBeName(part || '/', names[i]!))
  )
}

/** Tests whether a glob and a pattern may match the same text. */
export function mayOverlap(glob: string): (pattern: Wildcard) => boolean {
  const wide = widened(glob)
  return (pattern) => overlaps(wide, pattern)
}

/** Widens a glob: everything that is not literal becomes a star. */
function widened(glob: string): Wildcard {
  return wildcard(glob.replace(/\[[^\]/]*\]|[?[]/g, '*'))
}

/** The remaining cost a decision may spend on matching, so that no line or number of rules blocks the event loop. */
export interface MatchBudget {
  /** Spends an amount; false once the budget is exhausted. One is about the cost of a short comparison. */
  spend(amount: number): boolean
}

/** About tens of milliseconds. When it is exhausted, allow rules do not match, and deny and ask rules do. */
export function createMatchBudget(left = 300_000): MatchBudget {
  let rest = left
  return {
    spend(amount) {
      rest -= amount
      return rest >= 0
    },
  }
}

/** The cost of searching a text for a short one. */
export const searchCost = (text: string): number => 1 + text.length / 400
