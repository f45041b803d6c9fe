import { opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { compareTexts } from '../platform/compare-texts.ts'
import { fullyVisible } from '../platform/visible-text.ts'

/** As many files of a skill as are named. */
const mostResources = 200

/**
 * The files that come with a skill, by their paths in its folder with `/`: names only, none is opened. Without its
 * SKILL.md, files that begin with a dot, links, and names that hide something. At most 200.
 */
export async function listResources(folder: string): Promise<readonly string[]> {
  const found: string[] = []
  let seen = 0
  const look = async (inside: string, depth: number): Promise<void> => {
    const entries = await opendir(join(folder, inside)).catch(() => undefined)
    if (!entries) return
    const names: { name: string; isFolder: boolean }[] = []
    for await (const entry of entries) {
      if (++seen > mostEntries) break
      const isFolder = entry.isDirectory()
      if (!isFolder && !entry.isFile()) continue
      if (!entry.name.startsWith('.') && fullyVisible(entry.name) === entry.name)
        names.push({ name: entry.name, isFolder })
    }
    for (const { name, isFolder } of names.sort((a, b) => compareTexts(a.name, b.name))) {
      const path = inside === '' ? name : `${inside}/${name}`
      if (found.length === mostResources) return
      if (isFolder && depth < mostDepth && name !== 'node_modules') await look(path, depth + 1)
      else if (!isFolder && !/^skill\.md$/i.test(path)) found.push(path)
    }
  }
  await look('', 0)
  return found.sort(compareTexts)
}

const mostEntries = 5000
const mostDepth = 6
