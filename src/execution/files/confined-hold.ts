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
import { fileError } from './confined-path.ts'
import { type Roots, whereabouts } from './confined-roots.ts'

/** A file or folder that is held fast: what is done through it hits the very thing that was looked at, whatever its names do. */
export interface Held {
  /** Its real path when it was taken hold of. */
  readonly path: string
  readonly stats: BigIntStats
  /** A path to it, or to one of its entries, that only the system follows. */
  at(name?: string): string
  /** Its real path now. */
  whereNow(): string
  /** A descriptor to read it by; only for regular files. */
  open(): Promise<number>
  close(): void
}

export interface HoldOptions {
  /** Only a folder will do; anything else is `ENOTDIR`. */
  readonly folder?: boolean
  /** Default true. False: the last name must not be a link. */
  readonly follow?: boolean
}

/** Takes hold of what a path leads to. Where that is, is for the caller to check. */
export type Hold = (path: string, options?: HoldOptions) => Promise<Held>

/** Linux shows where a descriptor is, and takes paths that start at one. */
export function hasDescriptorPaths(): boolean {
  return process.platform === 'linux' && existsSync('/proc/self/fd') && existsSync('/proc/self/fdinfo')
}

/** Linux only, and missing from Node's list: names a file without opening it, so that no pipe waits and no device wakes up. */
const O_PATH = 0o10000000
const { O_RDONLY, O_DIRECTORY = 0, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants

const openFd = promisify(open)
const realpathOf = promisify(realpath.native)

/** By descriptors: the system resolves the path once, and says where it came out. There is no moment between check and use. */
export function holdByDescriptor(roots: Roots): Hold {
  const isOwnMount = roots.folders && ownMounts(roots.folders)
  return async (path, { folder = false, follow = true } = {}) => {
    const fd = await openFd(path, O_PATH | (folder ? O_DIRECTORY : 0) | (follow ? 0 : O_NOFOLLOW))
    try {
      if (isOwnMount && !isOwnMount(fd)) throw roots.outside(path, 'the file system of another process')
      const self = `/proc/self/fd/${fd}`
      const stats = fstatSync(fd, { bigint: true })
      return {
        path: placeOf(self, stats),
        stats,
        at: (name) => (name === undefined ? self : `${self}/${name}`),
        whereNow: () => placeOf(self, stats),
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

/** The system adds a word to the path of what was deleted or replaced a moment ago. */
function placeOf(self: string, { dev, ino }: BigIntStats): string {
  const path = readlinkSync(self)
  if (!path.endsWith(deleted)) return path
  const named = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return named?.dev === dev && named.ino === ino ? path : path.slice(0, -deleted.length)
}

/**
 * Through `/proc/<pid>/root` a link can lead into the mounts of another process, where any folder may stand under the path of a
 * root. Such a mount is none of ours.
 */
function ownMounts(folders: readonly string[]): (fd: number) => boolean {
  // Inside a chroot the list below leaves out the mount that the root folders are on.
  const known = new Set(folders.map(mountOfFolder))
  return (fd) => {
    const mount = mountOf(fd)
    if (mount === undefined || known.has(mount)) return true
    for (const line of readFileSync('/proc/self/mountinfo', 'latin1').split('\n')) known.add(line.split(' ', 1)[0])
    return known.has(mount)
  }
}

/** Undefined where the system does not tell. */
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
 * By paths, where there is nothing better. Weaker: whoever swaps a folder for a link between our last look and the system call
 * gets through. What was read is still checked before it is used; what was written can only be reported.
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
    whereNow: () => whereabouts(path),
    open: () => openByPath(path),
    close: () => {},
  }
}

/** As the system says it, for whoever knows the path that was asked for. */
function notFolder(): Error {
  return Object.assign(fileError('ENOTDIR', 'ENOTDIR: not a directory'), { syscall: 'open' })
}

async function openByPath(path: string): Promise<number> {
  // Whoever replaces the file in one step, as we do ourselves, is no reason to fail.
  for (let tries = 0; tries < 20; tries++) {
    const fd = await openFd(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    if (whereabouts(path) === path && isSame(fd, path)) return fd
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
