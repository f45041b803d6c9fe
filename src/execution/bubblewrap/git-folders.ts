import { type Dirent, type Stats, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

const deepest = 3
const mostFolders = 2000
/** The clock of a file system ticks slowly: what changed just now may change again without a sign. */
const unsureMs = 100

/** Finds the `.git` of repositories inside a root: folders, links, or files that name one. Three levels deep and not everywhere. */
export interface GitFolders {
  /** As it is now; only folders that changed are read again. */
  find(): Promise<string[]>
}

export function gitFolders(root: string): GitFolders {
  const known = new Map<string, Looked>()

  async function lookInto(folder: string): Promise<Looked | undefined> {
    const found = look(folder)
    if (!found) return undefined
    const before = known.get(folder)
    // Not the time of the last change of its content, which anybody can set.
    if (before && before.changed === found.ctimeMs && before.ino === found.ino) return before
    const entries = await entriesOf(folder)
    const looked = {
      changed: Date.now() - found.ctimeMs > unsureMs ? found.ctimeMs : -1,
      ino: found.ino,
      git: entries.filter(({ name }) => name === '.git').map(({ name }) => join(folder, name)),
      folders: entries
        .filter((entry) => entry.isDirectory() && entry.name !== '.git' && entry.name !== 'node_modules')
        .map(({ name }) => join(folder, name)),
    }
    known.set(folder, looked)
    return looked
  }

  return {
    async find() {
      const found: string[] = []
      let level = [root]
      let looked = 0
      for (let depth = 0; depth <= deepest; depth++) {
        const next: string[] = []
        for (const folder of level) {
          if (++looked > mostFolders) return found
          const inside = await lookInto(folder)
          if (depth > 0) found.push(...(inside?.git ?? []))
          next.push(...(inside?.folders ?? []))
        }
        level = next
      }
      return found
    },
  }
}

interface Looked {
  readonly changed: number
  readonly ino: number
  readonly git: readonly string[]
  readonly folders: readonly string[]
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch {
    return [] // gone, or not for us
  }
}

function look(folder: string): Stats | undefined {
  try {
    return statSync(folder, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
