import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { textStart } from '../../platform/text-start.ts'
import { gitSettings } from './git.ts'
import { gitPlaceAt } from './git-folder.ts'
import { gitLinksIn } from './git-index.ts'

/** Repositories that another one lists in its index: `git status` runs git in each of them, wherever it lies. */
export interface LinkedRepositories {
  /** Their `.git` paths with the path of the repository that lists them, also of those that these list. */
  find(repositories: readonly string[]): {
    readonly found: ReadonlyMap<string, string>
    readonly unread: readonly string[]
  }
}

/** An index that did not change is not read again. */
export function createLinkedRepositories(): LinkedRepositories {
  const known = new Map<
    string,
    { readonly stamp: string; readonly paths: readonly string[]; readonly isWhole: boolean }
  >()

  function linksOf(path: string): { readonly paths: readonly string[]; readonly isWhole: boolean } {
    const { own, common } = gitPlaceAt(path)
    const files = indexFilesIn(own)
    if (files.length === 0) return nothing
    const stamp = files.map(([file, { ino, size, ctimeMs }]) => `${file}:${ino}:${size}:${ctimeMs}`).join('\n')
    const before = known.get(path)
    const isSure = files.every(([, { ctimeMs }]) => Date.now() - ctimeMs > unsureMs)
    if (before?.stamp === stamp) return before
    const sizeOfHash = hashOf(common) === 'sha256' ? 32 : 20
    const parts = files.map(([file]) => gitLinksIn(bytesOf(file), sizeOfHash))
    const now = { paths: parts.flatMap(({ paths }) => paths), isWhole: parts.every(({ isWhole }) => isWhole) }
    known.set(path, { ...now, stamp: isSure ? stamp : '' })
    return now
  }

  return {
    find(repositories) {
      const found = new Map<string, string>()
      const unread: string[] = []
      // It grows meanwhile.
      const all = new Set(repositories)
      for (const path of all) {
        if (basename(path) !== '.git') continue // without a work tree
        const { paths, isWhole } = linksOf(path)
        if (!isWhole) unread.push(path)
        for (const name of paths) {
          const git = join(dirname(path), name, '.git')
          if (all.size >= mostRepositories) unread.push(path)
          else if (statOf(git) && !found.has(git)) {
            found.set(git, path)
            all.add(git)
          }
        }
      }
      return { found, unread: [...new Set(unread)] }
    },
  }
}

const nothing = { paths: [], isWhole: true }
const mostRepositories = 10_000
/** A million files. */
const mostBytes = 128 * 1024 * 1024
/** File timestamps are coarse. */
const unsureMs = 100

/** An index may be in two files. */
function indexFilesIn(folder: string): [string, Stats][] {
  const index = statOf(join(folder, 'index'))
  if (!index) return []
  const shared = namesIn(folder).filter((name) => name.startsWith('sharedindex.'))
  return ['index', ...shared].flatMap((name): [string, Stats][] => {
    const stats = statOf(join(folder, name))
    return stats ? [[join(folder, name), stats]] : []
  })
}

/** Empty if it is none, or too large. It may be replaced by a pipe at any time. */
function bytesOf(file: string): Buffer {
  let fd: number | undefined
  try {
    fd = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    const stats = fstatSync(fd)
    return stats.isFile() && stats.size <= mostBytes ? readFileSync(fd) : Buffer.alloc(0)
  } catch {
    return Buffer.alloc(0)
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

function hashOf(common: string): string | undefined {
  const settings = gitSettings(textStart(join(common, 'config'), 1024 * 1024))
  return settings.findLast(({ key }) => key === 'extensions.objectformat')?.value.toLowerCase()
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
