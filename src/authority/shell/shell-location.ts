import { posix } from 'node:path'
import type { EffectFact } from '../judged-call.ts'

/** Where a shell line would run, and whether what lies there may make programs do things. */
export interface ShellLocation {
  /** Of the workspace: an absolute POSIX path. */
  readonly root: string
  /** Where the line starts; absolute. Default: the root. */
  readonly cwd?: string
  readonly home?: string
  readonly isTrusted: boolean
}

/** Where something lies, as an effect says it. */
type PathTarget = Pick<EffectFact, 'target' | 'isOutside'>

/** Where a path leads from a directory of a line, by its spelling alone: links are for whoever may look at the disk. */
export function locate(path: string, cwd: string | undefined, location: ShellLocation): PathTarget {
  const absolute = absolutePath(path, cwd, location)
  if (absolute === undefined) return { isOutside: true }
  return { isOutside: false, ...workspacePath(location.root, absolute) }
}

/** The same for many paths: a line may have a hundred thousand of them, and most are plain. */
export function locator(cwd: string | undefined, location: ShellLocation): (path: string) => PathTarget {
  const { target, isOutside = true } = locate('.', cwd, location)
  const prefix = target === '.' ? '' : `${target}/`
  return (path) =>
    target !== undefined && isPlain.test(path) ? { target: prefix + path, isOutside } : locate(path, cwd, location)
}

/** Relative, without anything to resolve. */
const isPlain = /^\.?[\w@%+=:,-][\w@%+=:,.-]*(?:\/\.?[\w@%+=:,-][\w@%+=:,.-]*)*$/

/** Which files a pattern would write is not known before. */
export function isPattern(path: string): boolean {
  return /[*?[]/.test(path)
}

/** Undefined where only the running shell would know. */
export function absolutePath(spelled: string, cwd: string | undefined, location: ShellLocation): string | undefined {
  const path = withoutHome(spelled)
  if (/[$`]/.test(path) || leavesGlob(path)) return undefined
  if (path.startsWith('~')) return homePath(path, location)
  if (path.startsWith('/')) return withoutSlash(posix.normalize(path))
  if (cwd === undefined) return undefined
  const start = cwd.startsWith('~') ? homePath(cwd, location) : posix.resolve(location.root, location.cwd ?? '.', cwd)
  return start === undefined ? undefined : posix.resolve(start, path)
}

/** `$HOME/a` is `~/a`. */
export function withoutHome(path: string): string {
  return path.replace(/^\$(?:HOME|\{HOME\})(?=\/|$)/, '~')
}

/** `a*` may match any folder, so nobody knows where `..` leads from there. */
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

/** Compares by segments, so that `/w/project-evil` is not inside `/w/project`. Looks at names only; links are not followed. */
export function workspacePath(root: string, path: string): WorkspacePath {
  const absolute = posix.resolve(root, path)
  const relative = posix.relative(root, absolute)
  if (relative === '') return { target: '.' }
  const isOutside = relative === '..' || relative.startsWith('../')
  return isOutside ? { target: absolute, isOutside } : { target: relative }
}
