import { lstatSync, type Stats } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { textStart } from '../../platform/text-start.ts'
import { isInside } from '../bubblewrap/protected-paths.ts'
import { realPathOf } from '../files/confined-path.ts'

/** The repository that a folder belongs to. */
export interface Repository {
  /** Its top folder. */
  readonly top: string
  /** What git needs and is not inside the folder itself; without it git does not work there. */
  readonly outside: readonly string[]
  /** The git folder among these, which git writes. */
  readonly git?: string
}

/**
 * Finds the repository of a workspace. A project could name the repository of another one in its `.git` file: so what lies
 * outside counts only if it names the workspace too.
 */
export function repositoryOf(workspace: string, home: string): Repository | undefined {
  const top = topOf(workspace)
  // A home folder kept in git would be shown whole.
  if (top === undefined || (top !== workspace && isInside(top, home))) return undefined
  const git = join(top, '.git')
  const own = top === workspace ? [] : [top]
  if (look(git)?.isDirectory()) return { top, outside: own, ...(top !== workspace && { git }) }
  const shared = sharedFolder(git)
  return shared === undefined ? { top, outside: own } : { top, outside: [...own, shared], git: shared }
}

function topOf(folder: string): string | undefined {
  for (let at = folder; at !== '/'; at = dirname(at))
    if (look(join(at, '.git'))) return isTop(at, folder) ? at : undefined
  return undefined
}

/** A folder above would be shown whole, so there a `.git` does not count that other users made, or that is no git folder. */
function isTop(folder: string, workspace: string): boolean {
  if (folder === workspace) return true
  const git = join(folder, '.git')
  const isOwn = process.getuid === undefined || look(git)?.uid === process.getuid()
  return isOwn && (look(git)?.isDirectory() ? isGitFolder(git) : sharedFolder(git) !== undefined)
}

/** The folder that a `.git` file names: of a linked worktree what all checkouts share, of a submodule its own. */
function sharedFolder(file: string): string | undefined {
  if (!look(file)?.isFile()) return undefined
  const [, named] = /^gitdir: ([^\n]+)/.exec(textOf(file)) ?? []
  if (named === undefined) return undefined
  const folder = realPathOf(resolve(dirname(file), named))
  const common = textOf(join(folder, 'commondir')).trim()
  if (common === '') return namesWorktree(folder, dirname(file)) && isGitFolder(folder) ? folder : undefined
  const shared = realPathOf(resolve(folder, common))
  const isOfWorktree = isInside(join(shared, 'worktrees'), folder) && isGitFolder(shared)
  const back = textOf(join(folder, 'gitdir')).trim()
  return isOfWorktree && realPathOf(resolve(folder, back)) === file ? shared : undefined
}

function namesWorktree(git: string, worktree: string): boolean {
  const named = worktreeIn(textOf(join(git, 'config')))
  return named !== undefined && realPathOf(resolve(git, named)) === worktree
}

/** Looks at each line alone and at no blanks twice: a project can make this text of nothing but blanks. */
export function worktreeIn(config: string): string | undefined {
  for (const line of config.split('\n')) {
    const [, named] = /^[ \t]*worktree[ \t]*=([^\n]*)$/.exec(line) ?? []
    if (named !== undefined && named.trim() !== '') return named.trim()
  }
  return undefined
}

function isGitFolder(folder: string): boolean {
  return ['HEAD', 'objects', 'refs', 'config'].every((name) => look(join(folder, name)))
}

const mostText = 64 * 1024

const textOf = (path: string): string => textStart(path, mostText)

function look(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
