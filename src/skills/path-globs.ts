import { opendir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Skill } from './skill.ts'

/**
 * Compiles a glob of `**`, `*`, `?` and braces for paths with `/`. Matching takes time proportional to both lengths. A
 * glob of more than 256 characters matches nothing.
 */
function compileGlob(glob: string): (path: string) => boolean {
  const globs = glob.length > 256 ? [] : alternatives(glob).map(partsOf)
  return (path) => {
    const parts = path.split('/')
    return globs.some((one) => matchesParts(parts, one))
  }
}

/** Matches one path. */
export function matchesGlob(path: string, glob: string): boolean {
  return compileGlob(glob)(path)
}

/** A glob without a slash matches in any folder, as expected of `*.py`. */
function partsOf(glob: string): readonly string[] {
  const clean = glob.replace(/^\.?\//, '')
  const parts = (clean.endsWith('/') ? `${clean}**` : clean).split('/')
  return parts.length === 1 ? ['**', ...parts] : parts
}

/** Computes, per part of the glob, which prefixes of the path match. */
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

/** Backtracks to the last star only. */
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

/** Expands braces; too many alternatives are left as written. */
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

/**
 * The skills whose `paths` match a file below a folder. Reads names only, up to a bound; beyond it all skills stay: an
 * unneeded one costs little.
 */
export async function wherePathsMatch(skills: readonly Skill[], cwd: string): Promise<ReadonlySet<Skill>> {
  const open = new Map(
    skills.flatMap((skill) => (skill.paths?.length ? [[skill, skill.paths.map(compileGlob)] as const] : [])),
  )
  const matching = new Set(skills.filter((skill) => !open.has(skill)))
  const deadline = performance.now() + mostMilliseconds
  const queue: { inside: string; depth: number }[] = [{ inside: '', depth: 0 }]
  let seen = 0
  for (let next = queue.shift(); next && open.size > 0; next = queue.shift()) {
    const entries = await opendir(join(cwd, next.inside)).catch(() => undefined)
    if (!entries) continue
    for await (const entry of entries) {
      if (++seen > mostEntries || performance.now() > deadline) return new Set(skills)
      const path = next.inside === '' ? entry.name : `${next.inside}/${entry.name}`
      if (entry.isDirectory()) {
        if (next.depth < mostDepth && !skippedFolders.has(entry.name))
          queue.push({ inside: path, depth: next.depth + 1 })
        continue
      }
      for (const [skill, globs] of open) {
        if (!globs.some((matches) => matches(path))) continue
        open.delete(skill)
        matching.add(skill)
      }
    }
  }
  return matching
}

const mostEntries = 10_000
const mostDepth = 12
/** For slow disks and hostile globs. */
const mostMilliseconds = 3000
const skippedFolders = new Set(['.git', 'node_modules'])
