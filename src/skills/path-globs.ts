/**
 * Says of paths with `/` whether they match a glob of `**`, `*`, `?` and braces. Takes time in proportion to both,
 * whatever they say; a glob of more than 256 characters matches nothing.
 */
export function compileGlob(glob: string): (path: string) => boolean {
  const globs = glob.length > 256 ? [] : alternatives(glob).map(partsOf)
  return (path) => {
    const parts = path.split('/')
    return globs.some((one) => matchesParts(parts, one))
  }
}

/** The same for one path. */
export function matchesGlob(path: string, glob: string): boolean {
  return compileGlob(glob)(path)
}

/** Without a slash it may be a file in any folder, as people mean by `*.py`. */
function partsOf(glob: string): readonly string[] {
  const clean = glob.replace(/^\.?\//, '')
  const parts = (clean.endsWith('/') ? `${clean}**` : clean).split('/')
  return parts.length === 1 ? ['**', ...parts] : parts
}

/** Row by row: which beginnings of the path the beginning of the glob matches. */
function matchesParts(path: readonly string[], glob: readonly string[]): boolean {
  let reached = path.map(() => false).concat(false)
  reached[0] = true
  for (const part of glob) {
    if (part === '**') {
      const first = reached.indexOf(true)
      reached = reached.map((_, i) => first >= 0 && i >= first)
      continue
    }
    reached = reached.map((_, i) => i > 0 && reached[i - 1]! && matchesPart(path[i - 1]!, part))
  }
  return reached[path.length]!
}

/** Only the last star has to be tried again. */
function matchesPart(name: string, glob: string): boolean {
  let [n, g, star, from] = [0, 0, -1, 0]
  while (n < name.length) {
    if (glob[g] === '*') {
      star = g++
      from = n
    } else if (glob[g] === '?' || glob[g] === name[n]) {
      g++
      n++
    } else if (star >= 0) {
      g = star + 1
      n = ++from
    } else return false
  }
  while (glob[g] === '*') g++
  return g === glob.length
}

/** What braces stand for, one pair after the other; too many are taken as they are written. */
function alternatives(glob: string): readonly string[] {
  let open = [glob]
  for (let round = 0; round < 8; round++) {
    const next = open.flatMap((one) => {
      const braces = /\{([^{}]*)\}/.exec(one)
      if (!braces) return [one]
      const [before, after] = [one.slice(0, braces.index), one.slice(braces.index + braces[0].length)]
      return braces[1]!.split(',').map((word) => `${before}${word}${after}`)
    })
    if (next.length > 64) return open
    open = next
  }
  return open
}
