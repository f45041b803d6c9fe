import {
  type BigIntStats,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  open,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpath,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fileError, type Roots, realPathOf } from './confined-path.ts'

/** A file or folder that is held open: operations on it affect exactly what was checked, even if it is renamed. */
export interface HeldFile {
  /** Its real path when it was opened. */
  readonly path: string
  readonly stats: BigIntStats
  /** A path to it, or to one of its entries, through the descriptor. */
  at(name?: string): string
  /** Its present real path. */
  currentPath(): string
  /** Opens a descriptor for reading; only for regular files. */
  open(): Promise<number>
  close(): void
}

interface HoldOptions {
  /** Requires a folder; anything else is `ENOTDIR`. */
  readonly folder?: boolean
  /** Default true. False: the last name must not be a link. */
  readonly follow?: boolean
}

/** Opens what a path leads to. The caller must check its real path. */
export type Hold = (path: string, options?: HoldOptions) => Promise<HeldFile>

/** Linux tells the path of a descriptor, and accepts paths that start at one. */
export function hasDescriptorPaths(): boolean {
  return process.platform === 'linux' && existsSync('/proc/self/fd') && existsSync('/proc/self/fdinfo')
}

/** Linux only, and missing in Node's constants: refers to a file without opening it, so that pipes and devices have no effect. */
const O_PATH = 0o10000000
const { O_RDONLY, O_DIRECTORY = 0, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants

const openFd = promisify(open)
const realpathOf = promisify(realpath.native)

/** By descriptors: the system resolves the path once and tells the result, so there is no race between check and use. */
export function holdByDescriptor(roots: Roots): Hold {
  const isOwnMount = roots.folders && ownMounts(roots.folders)
  return async (path, { folder = false, follow = true } = {}) => {
    const fd = await openFd(path, O_PATH | (folder ? O_DIRECTORY : 0) | (follow ? 0 : O_NOFOLLOW))
    try {
      if (isOwnMount && !isOwnMount(fd)) throw roots.outside(path, 'the file system of another process')
      const self = `/proc/self/fd/${fd}`
      const stats = fstatSync(fd, { bigint: true })
      return {
        path: descriptorPath(self, stats),
        stats,
        at: (name) => (name === undefined ? self : `${self}/${name}`),
        currentPath: () => descriptorPath(self, stats),
        open: () => openFd(self, O_RDONLY | O_NONBLOCK),
        close: () => closeSync(fd),
      }
    } catch (error) {
      closeSync(fd)
      throw error
    }
  }
}

const deleted = ' (deleted)'

/** The system adds " (deleted)" to the path of a file that was deleted or replaced. */
function descriptorPath(self: string, { dev, ino }: BigIntStats): string {
  const path = readlinkSync(self)
  if (!path.endsWith(deleted)) return path
  const named = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return named?.dev === dev && named.ino === ino ? path : path.slice(0, -deleted.length)
}

/**
 * A link through `/proc/<pid>/root` can lead into the mounts of another process, where the path of a root may be another
 * folder. Such mounts are refused.
 */
function ownMounts(folders: readonly string[]): (fd: number) => boolean {
  // Inside a chroot the list below lacks the mount of the root folders.
  const known = new Set(folders.map(mountOfFolder))
  return (fd) => {
    const mount = mountOf(fd)
    if (mount === undefined || known.has(mount)) return true
    for (const line of readFileSync('/proc/self/mountinfo', 'latin1').split('\n')) known.add(line.split(' ', 1)[0])
    return known.has(mount)
  }
}

/** Undefined if the system does not tell. */
function mountOf(fd: number): string | undefined {
  const facts = openSync(`/proc/self/fdinfo/${fd}`, O_RDONLY)
  // It is one of the first lines.
  const start = Buffer.allocUnsafe(128)
  const length = readSync(facts, start)
  closeSync(facts)
  return /^mnt_id:\s*(\d+)\n/m.exec(start.toString('latin1', 0, length))?.[1]
}

function mountOfFolder(folder: string): string | undefined {
  for (let path = folder; ; path = join(path, '..')) {
    try {
      const fd = openSync(path, O_PATH)
      const mount = mountOf(fd)
      closeSync(fd)
      return mount
    } catch {
      if (path === '/') return undefined
    }
  }
}

/**
 * By paths, for systems without descriptor paths. Weaker: a process that replaces a folder by a link between the check and the
 * system call gets through. Read content is still checked before it is used; a write can only be reported.
 */
export const holdByPath: Hold = async (asked, { folder = false, follow = true } = {}) => {
  if (!follow && lstatSync(asked).isSymbolicLink()) throw notFolder()
  const path = await realpathOf(asked)
  const stats = lstatSync(path, { bigint: true })
  if (folder && !stats.isDirectory()) throw notFolder()
  return {
    path,
    stats,
    at: (name) => (name === undefined ? path : join(path, name)),
    currentPath: () => realPathOf(path),
    open: () => openByPath(path),
    close: () => {},
  }
}

/** In the form of a system error; the caller adds the path. */
function notFolder(): Error {
  return Object.assign(fileError('ENOTDIR', 'ENOTDIR: not a directory'), { syscall: 'open' })
}

async function openByPath(path: string): Promise<number> {
  // Retries if the file is being replaced in one step, as `writeFile` does.
  for (let tries = 0; tries < 20; tries++) {
    const fd = await openFd(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    if (realPathOf(path) === path && isSame(fd, path)) return fd
    closeSync(fd)
  }
  throw fileError('EAGAIN', `"${path}" is being replaced again and again; try later`, path)
}

function isSame(fd: number, path: string): boolean {
  const { dev, ino } = fstatSync(fd, { bigint: true })
  try {
    const now = lstatSync(path, { bigint: true })
    return now.dev === dev && now.ino === ino
  } catch {
    return false
  }
}
