import { type BigIntStats, type Dirent, lstatSync, readdirSync } from 'node:fs'

/** What is in a folder, by name. */
export interface FolderContent {
  readonly names: readonly string[]
  readonly folders: ReadonlySet<string>
  /** Pipes with a name: a mount that is read-only does not keep commands from writing to a process at their other end. */
  readonly pipes: ReadonlySet<string>
}

interface FolderScan extends FolderContent {
  readonly changed: bigint
  readonly ino: bigint
}

/** File timestamps are coarse: a folder that changed just now may change again without a new timestamp. */
const unsureNs = 100_000_000n

/** Reads folders, and those that did not change not again. Undefined for what is no folder. */
export function createFolderScan(): (folder: string) => FolderContent | undefined {
  const known = new Map<string, FolderScan>()
  return (folder) => {
    const stats = look(folder)
    if (!stats?.isDirectory()) return undefined
    const before = known.get(folder)
    // Not mtime, which any process can set.
    if (before && before.changed === stats.ctimeNs && before.ino === stats.ino) return before
    const isSure = BigInt(Date.now()) * 1_000_000n - stats.ctimeNs > unsureNs
    const now = { ...contentOf(folder), changed: isSure ? stats.ctimeNs : -1n, ino: stats.ino }
    known.set(folder, now)
    return now
  }
}

export function contentOf(folder: string): FolderContent {
  const entries = entriesOf(folder)
  return {
    names: entries.map(({ name }) => name),
    folders: new Set(entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)),
    pipes: new Set(entries.filter((entry) => entry.isFIFO()).map(({ name }) => name)),
  }
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return [] // commands cannot read it either
  }
}

/** What is at a path, links not followed. */
export function look(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false, bigint: true })
  } catch {
    return undefined
  }
}
