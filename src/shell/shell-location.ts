import { posix } from 'node:path'
import type { EffectFact } from './shell-facts.ts'

/** Where a shell line would run, and whether the workspace is trusted to configure programs. */
export interface ShellLocation {
  /** The workspace, as an absolute POSIX path. */
  readonly root: string
  /** The directory at the start of the line, absolute. Default: the root. */
  readonly cwd?: string
  readonly home?: string
  readonly isTrusted: boolean
}

/** A path as the target of an effect. */
type PathTarget = Pick<EffectFact, 'target' | 'isOutside'>

/** Resolves a path from a directory of a line, by spelling alone; links are resolved elsewhere. */
export function locate(path: string, cwd: string | undefined, location: ShellLocation): PathTarget {
  const absolute = absolutePath(path, cwd, location)
  if (absolute === undefined) return { isOutside: true }
  return { isOutside: false, ...workspacePath(location.root, absolute) }
}

/** Resolves many paths: a line may have a hundred thousand, and most are plain. */
export function locator(cwd: string | undefined, location: ShellLocation): (path: string) => PathTarget {
  const { target, isOutside = true } = locate('.', cwd, location)
  const prefix = target === '.' ? '' : `${target}/`
  return (path) =>
    target !== undefined && isPlain.test(path) ? { target: prefix + path, isOutside } : locate(path, cwd, location)
}

/** Relative, with nothing to resolve. */
const isPlain = /^\.?[\w@%+=:,-][\w@%+=:,.-]*(?:\/\.?[\w@%+=:,-][\w@%+=:,.-]*)*$/

/** Whether a path is a pattern, whose files are unknown. */
export function isPattern(path: string): boolean {
  return /[*?[]/.test(path)
}

/** The absolute path; undefined if only the running shell knows it. */
export function absolutePath(spelled: string, cwd: string | undefined, location: ShellLocation): string | undefined {
  const path = withoutHome(spelled)
  if (/[$`]/.test(path) || leavesGlob(path)) return undefined
  if (path.startsWith('~')) return homePath(path, location)
  if (path.startsWith('/')) return withoutSlash(posix.normalize(path))
  if (cwd === undefined) return undefined
  const start = cwd.startsWith('~') ? homePath(cwd, location) : posix.resolve(location.root, location.cwd ?? '.', cwd)
  return start === undefined ? undefined : posix.resolve(start, path)
}

/** Spells `$HOME/a` as `~/a`. */
export function withoutHome(path: string): string {
  return path.replace(/^\$(?:HOME|\{HOME\})(?=\/|$)/, '~')
}

/** `a*` may match any folder, so `..` after it leads to an unknown place. */
function leavesGlob(path: string): boolean {
  const glob = path.search(/[*?[]/)
  return glob >= 0 && /\/\.\.(\/|$)/.test(path.slice(glob))
}

function homePath(path: string, { home }: ShellLocation): string | undefined {
  if (home === undefined || !/^~(\/|$)/.test(path)) return undefined
  return withoutSlash(posix.normalize(home + path.slice(1)))
}

function withoutSlash(path: string): string {
  const kept = path.replace(/\/+$/, '')
  return kept === '' ? '/' : kept
}

/** A path as rules see it: relative to the workspace (`.` for itself), or absolute where it lies outside. */
export interface WorkspacePath {
  readonly target: string
  readonly isOutside?: true
}

/** Compares by segments, so that `/w/project-evil` is not inside `/w/project`. By name only; links are not resolved. */
export function workspacePath(root: string, path: string): WorkspacePath {
  const absolute = posix.resolve(root, path)
  const relative = posix.relative(root, absolute)
  if (relative === '') return { target: '.' }
  const isOutside = relative === '..' || relative.startsWith('../')
  return isOutside ? { target: absolute, isOutside } : { target: relative }
}
