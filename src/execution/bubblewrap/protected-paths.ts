import { type Dirent, lstatSync, readdirSync, readFileSync, type Stats } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { codeOf } from '../../platform/files.ts'
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
  const existing = new Set<string>()
  const pinned = new Set<string>()
  const missing = new Set<string>()
  const watched = new Set<string>()
  const isFree = (path: string): boolean => free.includes(path)
  const isKept = (path: string): boolean => path !== root && (placeholders?.has(path) || isVoid(path))

  function guard(path: string): void {
    let at = root
    for (const name of relative(root, path).split(sep)) {
      at = join(at, name)
      if (isFree(at)) return
      const found = placeholders?.has(at) ? undefined : look(at)
      if (found?.isSymbolicLink()) throw linkProblem(at)
      if (!found || (found.isDirectory() && isVoid(at))) return void missing.add(at)
      if (at === path || !found.isDirectory()) return void existing.add(at)
      pinned.add(at)
    }
  }

  function watch(path: string): void {
    if (isFree(path)) return
    const found = look(path)
    if (found?.isSymbolicLink()) throw linkProblem(path)
    if (found) existing.add(path)
    else if (look(dirname(path))?.isDirectory() && !isKept(dirname(path))) watched.add(path)
  }

  function guardGit(folder: string): void {
    for (const name of protectedInGit) guard(join(folder, name))
    for (const name of watchedInGit) watch(join(folder, name))
    for (const path of [...hooksFolders(folder), ...worktreeFiles(folder)])
      if (look(path) && isInside(root, path)) guard(path)
  }

  for (const name of protectedNames) guard(join(root, name))
  for (const name of watchedNames) watch(join(root, name))
  guardGit(isGitFolder(root) ? root : join(root, '.git'))
  for (const path of nested) {
    if (!isInside(root, path) || !look(path)) continue
    if (look(path)?.isDirectory()) guardGit(path)
    else guard(path)
  }
  return { existing: [...existing], pinned: [...pinned], missing: [...missing], watched: [...watched] }
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

const deepest = 3
const mostFolders = 2000

/** The `.git` of repositories inside a root: folders, or files that name one. Looks three levels deep and not everywhere. */
export async function nestedGitFolders(root: string): Promise<string[]> {
  const found: string[] = []
  let level = [root]
  let looked = 0
  for (let depth = 0; depth <= deepest; depth++) {
    const next: string[] = []
    for (const folder of level) {
      if (++looked > mostFolders) return found
      for (const entry of await entriesOf(folder)) {
        const path = join(entry.parentPath, entry.name)
        if (entry.name === '.git') depth > 0 && found.push(path)
        else if (entry.isDirectory() && entry.name !== 'node_modules') next.push(path)
      }
    }
    level = next
  }
  return found
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch {
    return [] // gone, or not for us
  }
}

function isGitFolder(folder: string): boolean {
  return ['HEAD', 'objects', 'refs'].every((name) => look(join(folder, name)))
}

/** Hooks may lie in a folder of the project, when the config says so. */
function hooksFolders(git: string): string[] {
  const root = basename(git) === '.git' ? dirname(git) : git
  return textOf(join(git, 'config')).flatMap((line) => {
    const [, path] = /^\s*hookspath\s*=\s*"?([^"#;]+?)"?\s*$/i.exec(line) ?? []
    return path ? [resolve(root, path)] : []
  })
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

function textOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n')
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

function linkProblem(path: string): Error {
  return new Error(
    `${path} is a symbolic link, and a sandbox cannot protect a link from being replaced. Put the real thing there, or name it in \`roots\` to let commands write it`,
  )
}
