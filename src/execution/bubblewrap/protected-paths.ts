import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { whereabouts } from '../files/confined-roots.ts'
import { gitObeys } from './git-config.ts'
import { isVoid, type Placeholders } from './placeholders.ts'

/** What must not be changed inside a folder that may be written, as it stands at this moment. */
export interface Protection {
  /** They are there. */
  readonly existing: readonly string[]
  /** Folders on the way to them, which must stay where they are. */
  readonly pinned: readonly string[]
  /** They are not there and must not come into being. */
  readonly missing: readonly string[]
  /** The same, for those that something else breaks over when a folder stands in their place. */
  readonly watched: readonly string[]
  /** Links in the place of them, which no mount can hold: what they lead to is protected, and they are put back. */
  readonly links: readonly string[]
  /** What has no business being there. */
  readonly strays: readonly string[]
}

/** Files that programs of the user obey, often without asking. */
export const protectedNames: readonly string[] = [
  ...['.gitmodules', '.gitattributes', '.gitconfig', '.husky'],
  ...['.libero', '.agents', '.claude', '.codex', '.gemini', '.mcp.json'],
  ...['.vscode', '.idea', '.cursor', '.zed', '.fleet', '.devcontainer', '.exrc', '.nvim.lua', '.dir-locals.el'],
  ...['.github/workflows', '.github/actions', '.gitlab-ci.yml', '.circleci', '.buildkite', '.forgejo', '.gitea'],
  ...['.bashrc', '.bash_profile', '.bash_login', '.bash_logout', '.profile'],
  ...['.zshrc', '.zshenv', '.zprofile', '.zlogin', '.zlogout'],
  ...['.envrc', '.npmrc', '.yarnrc', '.pnpmfile.cjs', '.pip', '.pypirc', '.cargo', '.ripgreprc'],
]

/** Inside a git folder. */
export const protectedInGit: readonly string[] = ['config', 'hooks', 'info/attributes', 'modules']
/** Yarn fails over a folder in place of its file, and git over the other two. */
const watchedNames = ['.yarnrc.yml']
const watchedInGit = ['commondir', 'config.worktree']
const mostWorktrees = 50

export interface ProtectionOptions {
  /** What is not protected: whoever named it as a root wants it written. */
  readonly free: readonly string[]
  /** Git folders deeper inside, as `nestedGitFolders` found them. */
  readonly nested?: readonly string[]
  /** Knows what stands there only to keep a name. */
  readonly placeholders?: Pick<Placeholders, 'has'>
}

/** Looks at one root. */
export function protectionOf(root: string, { free, nested = [], placeholders }: ProtectionOptions): Protection {
  const [existing, pinned, missing] = [new Set<string>(), new Set<string>(), new Set<string>()]
  const [watched, links, strays] = [new Set<string>(), new Set<string>(), new Set<string>()]
  const isFree = (path: string): boolean => free.includes(path)
  const isKept = (path: string): boolean => path !== root && (placeholders?.has(path) || isVoid(path))

  function guard(path: string): void {
    if (!isInside(root, path) || path === root) return
    let at = root
    for (const name of relative(root, path).split(sep)) {
      at = join(at, name)
      if (isFree(at)) return
      const found = placeholders?.has(at) ? undefined : look(at)
      if (found?.isSymbolicLink()) return void guardLink(at, path)
      if (!found || (found.isDirectory() && isVoid(at))) return void missing.add(at)
      if (at === path || !found.isDirectory()) return void existing.add(at)
      pinned.add(at)
    }
  }

  function guardLink(link: string, path: string): void {
    links.add(link)
    const real = whereabouts(path)
    // A circle of links leads nowhere.
    if (real !== path && !hasLink(root, real)) guard(real)
  }

  function watch(path: string): void {
    if (isFree(path)) return
    const found = look(path)
    if (found?.isSymbolicLink()) return void guardLink(path, path)
    if (found) existing.add(path)
    else if (look(dirname(path))?.isDirectory() && !isKept(dirname(path))) watched.add(path)
  }

  function guardGit(named: string): void {
    const isLink = look(named)?.isSymbolicLink() && !isFree(named)
    if (isLink) links.add(named)
    const folder = isLink ? whereabouts(named) : named
    if (!isInside(root, folder)) return
    for (const name of protectedInGit) guard(join(folder, name))
    for (const name of watchedInGit) watch(join(folder, name))
    const { hooks, included } = gitObeys(folder)
    for (const path of hooks) guard(path)
    // Git fails over a folder in place of a file of config.
    for (const path of included) if (look(path)) guard(path)
    for (const path of worktreeFiles(folder)) {
      const link = firstLink(folder, path)
      if (link !== undefined) strays.add(link)
      else if (look(path)) guard(path)
    }
  }

  for (const name of protectedNames) guard(join(root, name))
  for (const name of watchedNames) watch(join(root, name))
  guardGit(isGitFolder(root) ? root : join(root, '.git'))
  for (const path of nested) {
    if (!isInside(root, path) || !look(path)) continue
    if (look(path)?.isFile()) guard(path)
    else guardGit(path)
  }
  return {
    ...{ existing: [...existing], pinned: [...pinned], missing: [...missing] },
    ...{ watched: [...watched], links: [...links], strays: [...strays] },
  }
}

/** The names that are watched, there or not, in a root and the git folders inside it. */
export function watchedIn(root: string, nested: readonly string[]): string[] {
  const git = [isGitFolder(root) ? root : join(root, '.git'), ...nested.filter((path) => isInside(root, path))]
  return [
    ...watchedNames.map((name) => join(root, name)),
    ...git
      .map((folder) => whereabouts(folder))
      .flatMap((folder) => [...watchedInGit.map((name) => join(folder, name)), ...gitObeys(folder).included]),
  ].filter((path) => isInside(root, path))
}

const held = new Set(['.git', ...protectedNames, ...protectedInGit].flatMap((name) => name.split('/')))

/** Whether something of this name may be there only to keep it. */
export function maybeHeld(name: string): boolean {
  return held.has(name)
}

/** By whole names. */
export function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}

function isGitFolder(folder: string): boolean {
  return ['HEAD', 'objects', 'refs'].every((name) => look(join(folder, name)))
}

/** Other checkouts of the repository learn from these where its config is. */
function worktreeFiles(git: string): string[] {
  try {
    const names = readdirSync(join(git, 'worktrees')).slice(0, mostWorktrees)
    return names.flatMap((name) =>
      ['commondir', 'gitdir', 'config.worktree'].map((file) => join(git, 'worktrees', name, file)),
    )
  } catch {
    return []
  }
}

function look(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch (error) {
    if (codeOf(error) === 'ENOTDIR') return undefined
    throw error
  }
}

function hasLink(root: string, path: string): boolean {
  return isInside(root, path) && firstLink(root, path) !== undefined
}

/** On the way from a folder down to a path. */
function firstLink(folder: string, path: string): string | undefined {
  let at = folder
  for (const name of relative(folder, path).split(sep)) {
    at = join(at, name)
    if (look(at)?.isSymbolicLink()) return at
  }
  return undefined
}
