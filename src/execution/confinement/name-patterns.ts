import { matchesWildcard, type Wildcard, wildcard } from '../../platform/wildcard.ts'

/** Patterns of absolute paths in which a star stands for any characters, slashes too. */
export interface NamePatterns {
  /** Whether one matches the path, whose last name is given too. */
  matches(path: string, name: string): boolean
  /** Whether one may match something in a folder. */
  reach(folder: string): boolean
}

/** Most patterns end with a whole name, such as `.env`, so most paths cost one look at a table. */
export function namePatterns(patterns: readonly string[]): NamePatterns {
  const byName = new Map<string, Wildcard[]>()
  const others: Wildcard[] = []
  for (const pattern of patterns) {
    const last = pattern.slice(pattern.lastIndexOf('/') + 1)
    if (last.includes('*')) others.push(wildcard(pattern))
    else byName.set(last, [...(byName.get(last) ?? []), wildcard(pattern)])
  }
  return {
    matches(path, name) {
      const isMatch = (pattern: Wildcard): boolean => matchesWildcard(pattern, path)
      return byName.get(name)?.some(isMatch) === true || others.some(isMatch)
    },
    reach: (folder) => patterns.some((pattern) => reaches(pattern, folder)),
  }
}

/** As far as its first star a pattern and the folder are the same. */
function reaches(pattern: string, folder: string): boolean {
  const start = pattern.includes('*') ? pattern.slice(0, pattern.indexOf('*')) : `${pattern}/`
  return start.startsWith(`${folder}/`) || `${folder}/`.startsWith(start)
}
