import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, relative, sep } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { realPathOf } from '../files/confined-path.ts'
import { isEmptyFolder } from '../files/placeholder-folders.ts'
import { gitReferences } from './git.ts'
import { gitPlaceAt, isGitFolder } from './git-folder.ts'
import { homeFiles, isObeyed } from './home-files.ts'
import type { Placeholders } from './placeholders.ts'

/** The present protected paths inside a writable folder. */
export interface Protection {
  /** Existing paths. */
  readonly existing: readonly string[]
  /** Their parent folders, which must not be moved. */
  readonly pinned: readonly string[]
  /** Missing paths that must not be created. */
  readonly missing: readonly string[]
  /** Missing paths where a placeholder folder would break other programs. */
  readonly watched: readonly string[]
  /** Links at protected paths, which no mount can protect: their targets are protected, and the links are restored. */
  readonly links: readonly string[]
  /** Links that must not exist. */
  readonly misplacedLinks: readonly string[]
}

/** Files that programs of the user execute or trust, often without asking. */
export const protectedNames: readonly string[] = [
  ...['.gitmodules', '.gitattributes', '.gitconfig', '.husky'],
  ...['.libero', '.agents', '.claude', '.codex', '.gemini', '.mcp.json'],
  ...['.vscode', '.idea', '.cursor', '.zed', '.fleet', '.devcontainer', '.exrc', '.nvim.lua', '.dir-locals.el'],
  ...['.github/workflows', '.github/actions', '.github/hooks', '.gitlab-ci.yml', '.circleci', '.buildkite'],
  ...['.forgejo', '.gitea'],
  ...['.bashrc', '.bash_profile', '.bash_login', '.bash_logout', '.profile'],
  ...['.zshrc', '.zshenv', '.zprofile', '.zlogin', '.zlogout'],
  ...['.envrc', '.npmrc', '.yarnrc', '.pnpmfile.cjs', '.pip', '.pypirc', '.cargo', '.ripgreprc'],
]

/** Inside a git folder. */
export const protectedInGit: readonly string[] = [
  ...['config', 'hooks', 'info/attributes', 'modules'],
  // Older forms of remotes: an address to push to may be a repository with hooks.
  ...['remotes', 'branches'],
]
/** Yarn fails if its file is a folder, and people would see the others in every project. */
export const watchedNames: readonly string[] = [
  ...['.yarnrc.yml', '.yarn/releases', '.yarn/plugins', 'bunfig.toml', 'pip.conf', '.condarc', '.gemrc'],
  ...['.travis.yml', '.drone.yml', '.woodpecker.yml', '.woodpecker', '.teamcity', 'Jenkinsfile', '.appveyor.yml'],
  ...['azure-pipelines.yml', 'bitbucket-pipelines.yml', 'appveyor.yml', 'mcp.json', '.windsurf', '.nvim', '.nvimrc'],
  ...['.vimrc', '.emacs', '.bash_aliases', '.inputrc', '.cshrc', '.tcshrc', '.login', '.kshrc', '.xprofile'],
  ...['.xinitrc', '.xsession', '.tmux.conf', '.curlrc', '.wgetrc', '.irbrc', '.pythonrc', '.pdbrc'],
  ...['.opencode', 'opencode.json', 'opencode.jsonc', '.aider.conf.yml', '.continue', '.kiro', '.roo', '.clinerules'],
  ...['.qwen', '.amazonq', '.devcontainer.json', '.pre-commit-config.yaml', 'lefthook.yml', '.lefthook.yml'],
  ...['mise.toml', '.mise.toml', '.mise', '.lvimrc', '.gdbinit', '.lldbinit', '.screenrc', '.pryrc', '.Rprofile'],
  ...['.Renviron', '.ghci', '.ocamlinit', '.bundle/config', '.bazelrc', '.iex.exs', '.byebugrc', '.rdebugrc'],
  ...['.hg/hgrc', '.sl/config', '.jj/repo/config.toml', '.helix', '.dir-locals-2.el', '_vimrc', '_exrc', '.octaverc'],
  ...['mise.local.toml', '.mise.local.toml', '.config/mise.toml', '.config/mise', '.rtx.toml', '.autoenv'],
  ...['.autoenv.zsh', '.shadowenv.d', '.pnpmfile.mjs', 'lefthook.yaml', '.lefthook.yaml', 'lefthook-local.yml'],
  ...['.cirrus.yml', '.semaphore', '.build.yml', '.builds', '.tekton', '.screwdriver.yaml', '.azure-pipelines'],
  ...['.gitpod.yml', '.idx', '.codesandbox', '.replit', '.trae', '.junie', '.augment', '.goose', '.factory', '.amp'],
  ...['crush.json', '.crush.json', '.kilocode', '.cline', '.copilot', '.openhands', '.rovodev', '.tabnine', '.pi'],
  ...['.vs', '.lazy.lua', '.overcommit.yml', '.rvmrc', '.pijul/config', '_darcs/prefs/defaults', '.direnv'],
  ...['.tool-versions', 'rust-toolchain', 'rust-toolchain.toml', '.vim/coc-settings.json', '.ycm_extra_conf.py'],
  ...['.flox', '.in', '.out', '.opencode.json', '.bzr/branch/branch.conf', '.pre-commit-config.yml'],
  ...['lefthook.toml', 'lefthook.json', '.lefthook.toml', '.lefthook.json', 'lefthook-local.yaml'],
  ...['lefthook-local.toml', 'lefthook-local.json', '.lefthook-local.yml', '.lefthook-local.yaml'],
  ...['.lefthook-local.toml', '.lefthook-local.json', '.config/lefthook.yml', '.config/lefthook.yaml'],
  ...['.config/lefthook.toml', '.config/lefthook.json', '.config/lefthook-local.yml', '.config/lefthook-local.yaml'],
  ...['prek.toml', 'hk.pkl', 'captainhook.json', 'simple-git-hooks.json', '.simple-git-hooks.json'],
  ...['simple-git-hooks.js', '.simple-git-hooks.js', 'simple-git-hooks.cjs', '.simple-git-hooks.cjs'],
]
/** Git fails if these are folders. */
export const watchedInGit: readonly string[] = ['commondir', 'config.worktree']

interface ProtectionOptions {
  /** Paths that are not protected, because they are roots themselves. */
  readonly free: readonly string[]
  /** Nested git folders. */
  readonly nested?: readonly string[]
  /** Tells which paths are placeholders. */
  readonly placeholders?: Pick<Placeholders, 'has'>
}

/** Finds the protected paths of one root. */
export function protectionOf(root: string, { free, nested = [], placeholders }: ProtectionOptions): Protection {
  const [existing, pinned, missing] = [new Set<string>(), new Set<string>(), new Set<string>()]
  const [watched, links, misplacedLinks] = [new Set<string>(), new Set<string>(), new Set<string>()]
  const isFree = (path: string): boolean => free.includes(path)
  const isKept = (path: string): boolean => path !== root && (placeholders?.has(path) || isEmptyFolder(path))

  function guard(path: string): void {
    if (!isInside(root, path) || path === root) return
    let at = root
    for (const name of relative(root, path).split(sep)) {
      at = join(at, name)
      if (isFree(at)) return
      const found = placeholders?.has(at) ? undefined : look(at)
      if (found?.isSymbolicLink()) return void guardLink(at, path)
      if (!found || (found.isDirectory() && isEmptyFolder(at))) return void missing.add(at)
      if (at === path || !found.isDirectory()) return void existing.add(at)
      pinned.add(at)
    }
  }

  function guardLink(link: string, path: string): void {
    links.add(link)
    const real = realPathOf(path)
    // A circle of links has no target.
    if (real !== path && !hasLink(root, real)) guard(real)
  }

  function watch(path: string): void {
    if (isFree(path)) return
    const found = look(path)
    if (found?.isSymbolicLink()) return void guardLink(path, path)
    if (found) guard(path)
    else if (look(dirname(path))?.isDirectory() && !isKept(dirname(path))) watched.add(path)
  }

  function guardGit(named: string): void {
    const isLink = look(named)?.isSymbolicLink() && !isFree(named)
    if (isLink && isInside(root, named)) links.add(named)
    const path = isLink ? realPathOf(named) : named
    if (look(path)?.isFile()) guard(path)
    const { own, common } = gitPlaceAt(path)
    for (const folder of new Set([own, common])) guardGitFolder(folder, folder === common ? protectedInGit : [])
    if (!isInside(root, path)) return
    const { hooks, included } = gitReferences(path)
    for (const one of hooks) guard(one)
    // Git fails if a config file is a folder, so missing ones get no placeholder.
    for (const one of included) if (look(one)) guard(one)
  }

  function guardGitFolder(folder: string, names: readonly string[]): void {
    // Such as the git folder of a submodule, which is read-only as a whole.
    if (!isInside(root, folder) || isKeptWhole(folder)) return
    for (const name of names) guard(join(folder, name))
    for (const name of watchedInGit) watch(join(folder, name))
    for (const path of worktreeFiles(folder)) {
      const link = firstLink(folder, path)
      if (link !== undefined) misplacedLinks.add(link)
      else if (look(path)) guard(path)
      else if (isWatchedInGit(path)) watch(path)
    }
  }

  function isKeptWhole(path: string): boolean {
    for (let at = path; isInside(root, at) && at !== root; at = dirname(at)) if (existing.has(at)) return true
    return false
  }

  // In the git folder of a repository no program looks for the others.
  const isOfGit = root.split(sep).includes('.git')
  for (const name of isOfGit ? [] : protectedNames) guard(join(root, name))
  for (const name of isOfGit ? [] : watchedNames) watch(join(root, name))
  const ofHome = homeFilesIn(root)
  for (const path of ofHome.existing) guard(path)
  for (const path of ofHome.watched) watch(path)
  for (const folder of gitFoldersOf(root)) guardGit(folder)
  // One elsewhere may name a folder in this root.
  for (const path of nested) if (look(path)) guardGit(path)
  return {
    ...{ existing: [...existing], pinned: [...pinned], missing: [...missing] },
    ...{ watched: [...watched], links: [...links], misplacedLinks: [...misplacedLinks] },
  }
}

/** The watched paths, existing or not, in a root and its git folders. */
export function watchedIn(root: string, nested: readonly string[]): string[] {
  const git = [...gitFoldersOf(root), ...nested]
  return [
    ...watchedNames.map((name) => join(root, name)),
    ...homeFilesIn(root).watched,
    ...git
      .map((path) => realPathOf(path))
      .flatMap((path) => {
        const { own, common } = gitPlaceAt(path)
        return [
          ...[own, common].flatMap((folder) => watchedInGit.map((name) => join(folder, name))),
          ...worktreeFiles(common).filter(isWatchedInGit),
          ...gitReferences(path).included,
        ]
      }),
  ].filter((path) => isInside(root, path))
}

/** Whether git obeys a file of this name in its folder as soon as it is there. */
export function isWatchedInGit(path: string): boolean {
  return watchedInGit.includes(basename(path))
}

const held = new Set(['.git', ...protectedNames, ...protectedInGit].flatMap((name) => name.split('/')))

/** Whether a path of this name may be a placeholder. */
export function mayBePlaceholder(name: string): boolean {
  return held.has(name)
}

/** Whether a path of a root is protected by its name alone, there or not. */
export function protectsName(root: string, path: string): boolean {
  if (!isInside(root, path)) return false
  const name = relative(root, path)
  const home = realPathOf(homedir())
  if (isInside(root, home) && isInside(home, path) && isObeyed(relative(home, path))) return true
  const inGit = [...protectedInGit, ...watchedInGit].map((one) => `/.git/${one}`)
  return (
    [...protectedNames, ...watchedNames].some((one) => isInside(one, name)) ||
    inGit.some((one) => `/${name}/`.includes(`${one}/`))
  )
}

function homeFilesIn(root: string): ReturnType<typeof homeFiles> {
  const home = realPathOf(homedir())
  return isInside(root, home) ? homeFiles(home) : { existing: [], watched: [] }
}

/** Compares whole path segments. */
export function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}

/** That of a root, and the root itself if it may be one: a command can give every folder these names. */
export function gitFoldersOf(root: string): string[] {
  return [join(root, '.git'), ...(isGitFolder((name) => isThere(join(root, name))) ? [root] : [])]
}

/** Files by which other checkouts of the repository find its config. A command may have made folders beside theirs. */
function worktreeFiles(git: string): string[] {
  try {
    const folders = readdirSync(join(git, 'worktrees')).map((name) => join(git, 'worktrees', name))
    const used = folders.filter((folder) => ['commondir', 'gitdir'].some((name) => isThere(join(folder, name))))
    return used.flatMap((folder) => ['commondir', 'gitdir', 'config.worktree'].map((name) => join(folder, name)))
  } catch {
    return []
  }
}

const isThere = (path: string): boolean => look(path) !== undefined

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

/** The first link between a folder and a path below it. */
function firstLink(folder: string, path: string): string | undefined {
  let at = folder
  for (const name of relative(folder, path).split(sep)) {
    at = join(at, name)
    if (look(at)?.isSymbolicLink()) return at
  }
  return undefined
}
