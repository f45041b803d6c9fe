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

/** Whether a shell would put other names in the place of this one. */
export const isShellGlob = (text: string): boolean => /[*?[]/.test(text)

/** Whether a name of a file may be meant by a glob. A star at the front never means a dot. */
export function mayBeName(glob: string, name: string): boolean {
  const first = glob[0]!
  if (name.startsWith('.') && first !== '.') return false
  return matchesWildcard(widened(glob), name)
}

/** The same for a whole path: a star does not cross a slash. */
export function mayBePath(glob: string, path: string): boolean {
  const [globs, names] = [glob.split('/'), path.split('/')]
  return (
    globs.length === names.length && globs.every((part, i) => part === names[i] || mayBeName(part || '/', names[i]!))
  )
}

/** Whether a glob may mean something that a pattern covers. */
export function mayOverlap(glob: string): (pattern: Wildcard) => boolean {
  const wide = widened(glob)
  return (pattern) => overlaps(wide, pattern)
}

/** Everything that is not literal becomes a star. */
function widened(glob: string): Wildcard {
  return wildcard(glob.replace(/\[[^\]/]*\]|[?[]/g, '*'))
}

/** What one decision may still spend on comparing, so that no line and no number of rules can hold up the event loop. */
export interface MatchBudget {
  /** Takes some; false once there is none left. One is about what a short comparison costs. */
  spend(amount: number): boolean
}

/** Some tens of milliseconds. Whoever runs out of it must not allow, and has to take what forbids for a hit. */
export function createMatchBudget(left = 300_000): MatchBudget {
  let rest = left
  return {
    spend(amount) {
      rest -= amount
      return rest >= 0
    },
  }
}

/** What it costs to look for something short in a text. */
export const searchCost = (text: string): number => 1 + text.length / 400
