import { type Stats, statSync } from 'node:fs'
import { homedir } from 'node:os'
import type { HiddenPath, SandboxLayout } from './args.ts'
import { gitFolders } from './git-folders.ts'
import { hiddenPaths } from './hidden-paths.ts'
import { privatePlaces } from './place.ts'
import { isHeld, isVoid, type Placeholders } from './placeholders.ts'
import { isInside, type Protection, protectionOf, watchedIn } from './protected-paths.ts'
import { createRepairs, type Repair, type Unheld } from './repairs.ts'
import { settledRoots } from './settled-roots.ts'

export interface SandboxPolicyOptions {
  /** Real paths, as all of these. */
  readonly roots: readonly string[]
  /** The roots as they were named: a protected path that is one of them may be written. */
  readonly named: readonly string[]
  readonly readOnly: readonly string[]
  readonly hidden: readonly string[] | undefined
  /** The folders for temporary files. */
  readonly temporaryAt: readonly string[]
  readonly placeholders: Placeholders
}

type Files = Pick<SandboxLayout, 'roots' | 'readOnly' | 'hidden' | 'temporaryAt'> & { readonly protection?: Protection }

/** What one handle may see and write. */
export interface SandboxPolicy {
  /** As it stands at this moment. `bare`: for a script of ours that puts right what is protected. */
  files(how: { readonly writes: boolean; readonly bare?: boolean }): Promise<Files>
  /** To be called before each command. */
  begin(): Promise<void>
  /** To be called after it: what came into being although it is protected; `undefined`: nothing. */
  repair(): Repair | undefined
  /** Whether a path is kept from being written although it lies in a root. */
  isProtected(path: string): boolean
}

export function sandboxPolicy(options: SandboxPolicyOptions): SandboxPolicy {
  const { roots, named, readOnly, hidden, temporaryAt, placeholders } = options
  const isRoot = process.getuid?.() === 0
  const settled = settledRoots(roots)
  const repositories = roots.map(gitFolders)
  /** A name may lead elsewhere later; what was hidden once stays so. */
  const everHidden = new Set<string>()
  const repairs = createRepairs()
  /** The repositories that were there before the last command. */
  let git: readonly string[] = []
  const nested = async (): Promise<string[]> => (await Promise.all(repositories.map((one) => one.find()))).flat()
  const isPlaceholder = (path: string): boolean => !roots.includes(path) && (placeholders.has(path) || isVoid(path))

  function protection(git: readonly string[], missing: readonly string[], present: readonly string[]): Protection {
    const terms = { free: [...roots, ...named], nested: git, placeholders }
    const each = present.filter(isFolder).map((root) => protectionOf(root, terms))
    return {
      existing: each.flatMap(({ existing }) => existing),
      pinned: each.flatMap(({ pinned }) => pinned),
      missing: [...new Set([...each.flatMap((one) => one.missing), ...missing])],
      watched: each.flatMap(({ watched }) => watched),
      links: each.flatMap((one) => one.links),
      strays: each.flatMap(({ strays }) => strays),
    }
  }

  /** Must not fail: a command could make it, and nothing would be put right any more. */
  function unheld(): Unheld {
    const isOurs = (path: string): boolean => placeholders.has(path) || isHeld(path)
    const each = roots.filter(isFolder).map((root) => {
      const free = [...roots, ...named]
      const unwanted = watchedIn(root, git).filter((path) => !free.includes(path) && !isOurs(path))
      try {
        const { links, strays } = protectionOf(root, { free, nested: git, placeholders })
        return { unwanted, links, strays }
      } catch {
        return { unwanted, links: [], strays: [] }
      }
    })
    return {
      unwanted: each.flatMap(({ unwanted }) => unwanted),
      links: each.flatMap(({ links }) => links),
      strays: each.flatMap(({ strays }) => strays),
    }
  }

  function hiddenNow(): { there: HiddenPath[]; missing: string[] } {
    const { there, missing } = hiddenPaths({ hidden, home: homedir(), isRoot, roots, isPlaceholder })
    const places = privatePlaces()
    if (!temporaryAt.some((folder) => isInside(folder, places))) there.push({ path: places, isFolder: true })
    const before = [...everHidden].filter((path) => !there.some((one) => one.path === path) && !isPlaceholder(path))
    for (const one of there) everHidden.add(one.path)
    const still = before.flatMap((path) => {
      const found = look(path)
      return found ? [{ path, isFolder: found.isDirectory() }] : []
    })
    return { there: [...there, ...still], missing }
  }

  hiddenNow() // before any command can change where a name leads

  return {
    async files({ writes, bare = false }) {
      if (writes && !bare) git = await nested()
      const { there, missing } = hiddenNow()
      const present = settled.present()
      const how = bare ? nothingProtected : writes && protection(git, missing, present)
      return { roots: present, readOnly, hidden: there, temporaryAt, ...(how && { protection: how }) }
    },

    async begin() {
      git = await nested()
      repairs.begin(unheld())
    },

    repair: () => repairs.end(unheld()),

    isProtected(path) {
      const { existing, missing, watched, links } = protection(git, [], settled.present())
      return [...existing, ...missing, ...watched, ...links].some((one) => isInside(one, path))
    },
  }
}

const nothingProtected = { existing: [], pinned: [], missing: [], watched: [], links: [], strays: [] }

function isFolder(path: string): boolean {
  return look(path)?.isDirectory() ?? false
}

function look(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined // what should be a folder on the way is none, or not for us
  }
}
