import {
  closeSync,
  constants,
  type Dirent,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
} from 'node:fs'
import { resolve } from 'node:path'

/** A folder that is held open: no link that is put in its place, or in that of an entry, leads elsewhere. */
export interface HeldFolder {
  entries(): Dirent[]
  /** Throws if the entry is a link, or no folder. */
  folder(name: string): HeldFolder
  /** A descriptor of a regular file. Throws if the entry is a link or something else. */
  file(name: string): number
  close(): void
}

/** Opens a folder by its real path. */
export function holdFolder(path: string, byDescriptor: boolean = hasDescriptorPaths()): HeldFolder {
  return byDescriptor ? byDescriptorOf(openReal(path, folderFlags)) : byPath(path)
}

/** A descriptor of the regular file at a real path. */
export function openRealFile(path: string): number {
  return regular(openReal(path, fileFlags))
}

/** Linux tells the path of a descriptor, and accepts paths that start at one. */
function hasDescriptorPaths(): boolean {
  return process.platform === 'linux' && existsSync('/proc/self/fd')
}

const { O_RDONLY, O_DIRECTORY = 0, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
const folderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
/** Opening a pipe must not wait for a process at its other end. */
const fileFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK

function byDescriptorOf(fd: number): HeldFolder {
  const self = `/proc/self/fd/${fd}`
  return {
    entries: () => readdirSync(self, { withFileTypes: true }),
    folder: (name) => byDescriptorOf(openSync(`${self}/${name}`, folderFlags)),
    file: (name) => regular(openSync(`${self}/${name}`, fileFlags)),
    close: () => closeSync(fd),
  }
}

/** For other systems, and weaker: what was opened is checked afterwards. */
function byPath(path: string): HeldFolder {
  const at = (name: string): string => (path.endsWith('/') ? path + name : `${path}/${name}`)
  return {
    entries() {
      const entries = readdirSync(path, { withFileTypes: true })
      if (!isReal(path)) throw replaced(path)
      return entries
    },
    folder(name) {
      if (!lstatSync(at(name)).isDirectory()) throw replaced(at(name))
      return byPath(at(name))
    },
    file: (name) => openRealFile(at(name)),
    close: () => {},
  }
}

function openReal(path: string, flags: number): number {
  const fd = openSync(path, flags)
  try {
    if (!leadsTo(fd, path)) throw replaced(path)
    return fd
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

function leadsTo(fd: number, path: string): boolean {
  if (hasDescriptorPaths()) return readlinkSync(`/proc/self/fd/${fd}`) === path
  const { dev, ino } = fstatSync(fd, { bigint: true })
  const now = lstatSync(path, { bigint: true })
  return now.dev === dev && now.ino === ino && isReal(path)
}

/** Windows has another separator, which a joined path may lack. */
function isReal(path: string): boolean {
  return realpathSync.native(path) === resolve(path)
}

function regular(fd: number): number {
  if (fstatSync(fd).isFile()) return fd
  closeSync(fd)
  throw new Error('no regular file')
}

function replaced(path: string): Error {
  return new Error(`"${path}" was replaced meanwhile`)
}
