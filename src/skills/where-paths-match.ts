import { opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { compileGlob } from './path-globs.ts'
import type { Skill } from './skill.ts'

/**
 * Those skills whose `paths` match a file below a folder. Looks at names only, and at so many; where there are more, a
 * skill stays: to be offered one that is not needed costs little.
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
        if (next.depth < mostDepth && !unlooked.has(entry.name)) queue.push({ inside: path, depth: next.depth + 1 })
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
/** A slow disk, or globs that are made to take long. */
const mostMilliseconds = 3000
const unlooked = new Set(['.git', 'node_modules'])
