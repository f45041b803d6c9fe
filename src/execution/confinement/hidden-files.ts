import { statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { HiddenPath } from '../bubblewrap/args.ts'
import { isGitFolder } from '../bubblewrap/git-folder.ts'
import { isInside } from '../bubblewrap/protected-paths.ts'
import { realPathOf } from '../files/confined-path.ts'
import { hasPlaceholderMark } from '../files/placeholder-folders.ts'
import { contentOf, createFolderScan, type FolderContent, look } from './folder-scan.ts'
import { type NamePatterns, namePatterns } from './name-patterns.ts'
import { packageSettings } from './token-files.ts'

/** Finds the files and folders that patterns hide, and pipes with a name. Folders that did not change are not read again. */
export interface HiddenFiles {
  /** Rejects with a reason if the folders are too large to be searched. */
  find(patterns: readonly string[], where: SearchedFolders): Promise<FoundFiles>
}

interface SearchedFolders {
  /** Folders of projects, which change. */
  readonly projects: readonly string[]
  /** Folders of programs. */
  readonly programs: readonly string[]
}

interface FoundFiles {
  readonly hidden: readonly HiddenPath[]
  /** The `.git` folders, links and files below the projects, and bare repositories there; not those of the projects themselves. */
  readonly repositories: readonly string[]
  /** Settings of package managers in the projects, without what they installed. */
  readonly settings: readonly string[]
}

const mostFolders = 20_000
const mostInstalled = 200_000
/** Each is a mount and a watch. */
export const mostHidden = 300
const mostSearches = 16
/** How many folders are searched before other work gets its turn. */
const perTurn = 256

export function createHiddenFiles(): HiddenFiles {
  const scan = createFolderScan()
  /** What was found in folders that a package manager fills, by folder and patterns. */
  const installed = new Map<string, { readonly stamp: string; readonly found: readonly string[] }>()

  async function searchProject(search: Search, folder: string): Promise<void> {
    const waiting = [folder]
    for (let looked = 0, at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (++looked > mostFolders) throw tooLarge(folder, mostFolders)
      if (looked % perTurn === 0) await nextTurn()
      const content = scan(at)
      if (!content) continue
      if (at !== folder) search.repositories.push(...gitFoldersIn(at, content.names))
      for (const name of packageSettings) if (content.names.includes(name)) search.settings.push(join(at, name))
      for (const below of foldersIn(at, content, search))
        if (isInstalled(below)) await searchInstalled(search, below)
        else waiting.push(below)
    }
  }

  /** Thousands of folders, and they change only with what the package manager notes. */
  async function searchInstalled(search: Search, folder: string): Promise<void> {
    const stamp = [folder, ...notes.map((name) => join(folder, name))].map(stampOf).join()
    const key = `${folder}\0${search.key}`
    const before = installed.get(key)
    if (before?.stamp === stamp) {
      for (const path of before.found) search.found.add(path)
      return
    }
    const own = { ...search, found: new Set<string>() }
    const waiting = [folder]
    for (let looked = 0, at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (++looked > mostInstalled) throw tooLarge(folder, mostInstalled)
      if (looked % perTurn === 0) await nextTurn()
      for (const below of foldersIn(at, contentOf(at), own)) waiting.push(below)
    }
    installed.set(key, { stamp, found: [...own.found] })
    const [oldest] = installed.keys()
    if (installed.size > mostSearches && oldest !== undefined) installed.delete(oldest)
    for (const path of own.found) search.found.add(path)
  }

  return {
    async find(patterns, { projects, programs }) {
      const starred = namePatterns(patterns.filter((pattern) => pattern.includes('*')))
      const named = patterns.filter((pattern) => !pattern.includes('*'))
      const search: Search = {
        ...{ patterns: starred, key: patterns.join('\0') },
        ...{ found: new Set(named), repositories: [], settings: [] },
      }
      for (const folder of [...projects, ...programs]) {
        if (starred.matches(folder, basename(folder))) search.found.add(folder)
        else if (projects.includes(folder)) await searchProject(search, folder)
        else if (starred.reach(folder)) await searchInstalled(search, folder)
      }
      const { found, repositories, settings } = search
      return { hidden: outermost([...found]), repositories, settings }
    },
  }
}

interface Search {
  readonly patterns: NamePatterns
  readonly key: string
  readonly found: Set<string>
  readonly repositories: string[]
  readonly settings: string[]
}

const installedNames = new Set(['node_modules', 'site-packages'])

/** Whether a folder is filled by a package manager, or by git with its objects. */
function isInstalled(folder: string): boolean {
  return installedNames.has(basename(folder)) || folder.endsWith('/.git/objects')
}

/** By which package managers know what they installed; for git's objects, the folder of packs. */
const notes = ['.package-lock.json', '.modules.yaml', '.yarn-state.yml', '.yarn-integrity', 'pack']

/** Notes what is hidden in a folder, and returns the folders in it that are to be searched. */
function foldersIn(at: string, { names, folders, pipes }: FolderContent, { patterns, found }: Search): string[] {
  const below: string[] = []
  for (const name of names) {
    const path = `${at}/${name}`
    if (pipes.has(name)) found.add(path)
    else if (!patterns.matches(path, name)) folders.has(name) && below.push(path)
    // Where nothing may be made while a command writes there is an empty folder, which comes and goes.
    else if (!(folders.has(name) && hasPlaceholderMark(path))) found.add(path)
  }
  return below
}

/** What lies in a git folder belongs to that repository. */
function gitFoldersIn(folder: string, names: readonly string[]): string[] {
  if (folder.split('/').includes('.git')) return []
  return [
    ...(isGitFolder((name) => names.includes(name)) ? [folder] : []),
    ...(names.includes('.git') ? [join(folder, '.git')] : []),
  ]
}

/** The existing ones with links resolved, because the target of a link is what is read; without what lies in another one. */
function outermost(paths: readonly string[]): HiddenPath[] {
  const real = [...new Set(paths.map((path) => realPathOf(path)))]
  const there = real.flatMap((path): HiddenPath[] => {
    const stats = statSync(path, { throwIfNoEntry: false })
    return stats ? [{ path, isFolder: stats.isDirectory() }] : []
  })
  const outer = there.filter(({ path }) => !there.some((one) => one.path !== path && isInside(one.path, path)))
  if (outer.length <= mostHidden) return outer
  throw new Error(`rules hide ${outer.length} files, at most ${mostHidden} are possible; hide their folders`)
}

function tooLarge(folder: string, most: number): Error {
  return new Error(
    `${folder} has more than ${most} folders, too many to search for what rules hide; work in a part of it`,
  )
}

function stampOf(path: string): string {
  const stats = look(path)
  return stats ? `${stats.ino}:${stats.ctimeNs}` : ''
}
