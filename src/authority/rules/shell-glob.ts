import { matchesWildcard, overlaps, type Wildcard, wildcard } from './wildcard.ts'

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
