import { type BigIntStats, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, posix, resolve, sep, win32 } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cutText } from '../../core/text.ts'

interface PathSetting {
  /** The base of relative paths. */
  readonly cwd: string
  /** The folder for `~`; called only if needed. */
  readonly home: () => string
  readonly platform: NodeJS.Platform
}

/** The absolute path of a text. The file system is not accessed: `..` is resolved textually, links are left to the system. */
export function readPath(text: unknown, { cwd, home, platform }: PathSetting): string {
  const isWindows = platform === 'win32'
  const path = withoutScheme(wellFormed(text), isWindows)
  if (path.includes('\0')) throw fileError('EINVAL', `The path ${quoted(path)} holds a NUL character; give it without`)
  const { resolve } = isWindows ? win32 : posix
  const plain = isWindows ? plainOnWindows(path) : path
  const absolute = /^~(?=$|\/)/.test(plain) ? resolve(home(), `.${plain.slice(1)}`) : resolve(cwd, plain)
  const length = isWindows ? absolute.length : Buffer.byteLength(absolute)
  if (length > (isWindows ? longestOnWindows : longest))
    throw fileError('ENAMETOOLONG', `The path ${quoted(absolute)} is too long (${length})`)
  return absolute
}

/** An error with the code of a system error. */
export function fileError(code: string, message: string, path?: string): Error {
  return Object.assign(new Error(message), path === undefined ? { code } : { code, path })
}

/** PATH_MAX of Linux without its NUL; other systems have lower limits and report them. */
const longest = 4095
const longestOnWindows = 32_767

function wellFormed(text: unknown): string {
  if (typeof text !== 'string') throw fileError('EINVAL', `A path must be a string, not ${typeof text}`)
  if (text === '') throw fileError('EINVAL', 'The path is empty; give the path of a file or a folder, "." for this one')
  if (text.isWellFormed()) return text
  // It would be encoded as another character, and so name another file.
  throw fileError('EINVAL', `The path ${quoted(text)} holds half a character (a lone surrogate)`)
}

function withoutScheme(text: string, windows: boolean): string {
  if (!/^file:\/\//i.test(text)) return text
  try {
    const url = new URL(text)
    if (url.search === '' && url.hash === '') return fileURLToPath(url, { windows })
  } catch {
    // reported below
  }
  throw fileError('EINVAL', `${quoted(text)} is no file URL of this machine; give the plain path`)
}

/** Refuses all forms of paths that are aliases or devices on Windows. */
function plainOnWindows(path: string): string {
  const refuse = (what: string): never => {
    throw fileError('EINVAL', `${quoted(path)} is ${what}; give the plain path, such as C:\\folder\\file.txt`)
  }
  const slashed = path.replaceAll('\\', '/')
  if (/^\/\/[?.](\/|$)|^\/\?\?(\/|$)/.test(slashed)) return refuse('a path of the device namespace')
  if (slashed.startsWith('//')) return refuse('a network path')
  if (/^[a-z]:(?!\/)/i.test(slashed)) return refuse('relative to the current folder of a drive')
  const [, drive = '', rest = ''] = /^([a-z]:)?(.*)$/is.exec(slashed)!
  if (rest.includes(':')) return refuse('the name of a stream inside a file')
  return drive + rest.split('/').map(plainName).join('/')

  function plainName(name: string): string {
    if (name === '' || name === '.' || name === '..') return name
    // Windows drops dots and spaces at the end of a name.
    const plain = name.replace(/[. ]+$/, '')
    if (plain === '') return refuse('a path with a name of nothing but dots and spaces')
    if (deviceName.test(plain)) return refuse(`the name of a device (${plain})`)
    if (shortName.test(plain)) return refuse(`a path with a short name (${plain})`)
    return plain
  }
}

const deviceName = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\.|$)/i
/** As in `PROGRA~1`: another name for a file with a long one. */
const shortName = /^(?=[^.]{3,8}(\.|$))[^.]+~\d+(\.[^.]{0,3})?$/

function quoted(text: string): string {
  return JSON.stringify(cutText(text, 100))
}

/** Changes whenever the content changes, within the time resolution of the file system. */
export function stampOf({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${ino}-${size}-${mtimeNs}-${ctimeNs}`
}

/** Throws for anything but a regular file: reading a pipe or a device may never end. */
export function refuseUnlessRegular(stats: BigIntStats, asked: string): void {
  if (stats.isFile()) return
  if (stats.isDirectory()) throw fileError('EISDIR', `"${asked}" is a folder, not a file`, asked)
  throw fileError('EINVAL', `"${asked}" is ${nameOf(stats)}; only regular files can be read and written`, asked)
}

function nameOf(stats: BigIntStats): string {
  if (stats.isFIFO()) return 'a named pipe'
  if (stats.isSocket()) return 'a socket'
  return stats.isBlockDevice() || stats.isCharacterDevice() ? 'a device' : 'no regular file'
}

/** The folders that must contain all accessed files. */
export interface Roots {
  /** Real paths; undefined: all paths are allowed. */
  readonly folders: readonly string[] | undefined
  /** Throws `EOUTSIDE` if the real path of a requested one is not inside. */
  check(real: string, asked: string): void
  /** The error for a requested path that leads outside. */
  outside(asked: string, where: string): Error
}

/**
 * The real paths of the roots are resolved once: otherwise a root inside another one could be replaced by a link, and its
 * target would be allowed.
 */
export function resolveRoots(roots: readonly string[] | 'any'): Roots {
  const folders = roots === 'any' ? undefined : roots.map(resolveRoot)

  function outside(asked: string, where: string): Error {
    const what = where === `"${asked}"` ? `${where} is` : `"${asked}" leads to ${where}, which is`
    const list = folders?.length ? folders.join(', ') : 'there are none'
    const advice = 'Work inside these; the operator of the agent can allow more folders'
    return fileError('EOUTSIDE', `${what} outside the folders that tools may use (${list}). ${advice}`, asked)
  }

  return {
    folders,
    check(real, asked) {
      if (folders && !folders.some((folder) => isInside(folder, real))) throw outside(asked, `"${real}"`)
    },
    outside,
  }
}

/** The folders of a handle, resolved when it is made. */
export interface ResolvedFolders {
  readonly cwd: string
  /** Of the file tools. */
  readonly roots: Roots
  readonly realPathOf: (folder: string) => string
}

/** Resolves the folders of a handle: later, a command of this or another handle could put a link in the place of one. */
export function resolveFolders(
  pathsToCwd: readonly (string | undefined)[],
  folders: readonly string[],
  givenRoots: readonly string[] | 'any' | undefined,
): ResolvedFolders {
  const cwd = resolve(...pathsToCwd.filter((path) => path !== undefined))
  const real = new Map([cwd, ...folders].map((folder) => [folder, realPathOf(folder)]))
  return {
    cwd,
    roots: resolveRoots(givenRoots ?? [cwd]),
    realPathOf: (folder) => real.get(folder) ?? realPathOf(folder),
  }
}

function resolveRoot(root: string): string {
  if (!isAbsolute(root)) throw new Error(`The root folder "${root}" must be an absolute path`)
  return realPathOf(resolve(root))
}

/** The real path of an existing or missing file: links are followed, also dangling ones. */
export function realPathOf(path: string, links = 40): string {
  try {
    return realpathSync.native(path)
  } catch {
    const parent = dirname(path)
    if (parent === path) return path
    const target = links > 0 ? linkTarget(path) : undefined
    if (target !== undefined) return realPathOf(resolve(realPathOf(parent, links), target), links - 1)
    return join(realPathOf(parent, links), basename(path))
  }
}

/** Whether a path is there, and no link is on the way to it. */
export function isRealPath(path: string): boolean {
  try {
    return realpathSync.native(path) === path
  } catch {
    return false
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

/** By whole names: `/w/project-x` is not inside `/w/project`. */
function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}
