import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { hasPlaceholderMark } from '../files/placeholder-folders.ts'

/** What changed in some folders since a time. */
export interface ChangedFiles {
  /** Files, links, and new folders without any. Of a git folder only itself. */
  readonly paths: readonly string[]
  /** There was too much to look at. */
  readonly isPartial: boolean
}

interface ChangedOptions {
  readonly folders: readonly string[]
  readonly since: number
  /** What changed, but not by a command. */
  readonly isOurs: (path: string, isFolder: boolean) => boolean
}

const mostEntries = 100_000
const mostMs = 10_000
/** Timestamps of files are as coarse as the clock of the kernel. */
const coarsenessMs = 20

/** Finds what changed in folders since a time, by what no program can set: not by mtime. Follows no links. */
export async function changedSince({ folders, since, isOurs }: ChangedOptions): Promise<ChangedFiles> {
  const start = since - coarsenessMs
  const deadline = performance.now() + mostMs
  const changed = new Set<string>()
  const rest = folders.map((path) => ({ path, isNew: false }))
  let left = mostEntries
  for (let folder = rest.pop(); folder; folder = rest.pop()) {
    const { path: at, isNew } = folder
    const entries = await readdir(at, { withFileTypes: true }).catch(() => [])
    left -= entries.length
    if (left < 0 || performance.now() > deadline) return { paths: [...changed].sort(), isPartial: true }
    if (isNew && entries.length === 0) changed.add(shownAs(at))
    await Promise.all(
      entries.map(async (entry) => {
        const path = join(at, entry.name)
        const found = await lstat(path).catch(() => undefined)
        if (!found) return
        // What is put into a folder changes it too.
        const isChanged = (found.isDirectory() ? found.birthtimeMs : found.ctimeMs) >= start
        const counts = isChanged && !isOurs(path, found.isDirectory())
        if (!found.isDirectory()) counts && changed.add(shownAs(path))
        else if (!hasPlaceholderMark(path)) rest.push({ path, isNew: counts })
      }),
    )
  }
  return { paths: [...changed].sort(), isPartial: false }
}

function shownAs(path: string): string {
  return /^(.*?\/\.git)\//.exec(path)?.[1] ?? path
}
