import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { codeOf, StoreError } from '../../core/errors.ts'
import { changing, looking } from './file-faults.ts'

const { O_APPEND, O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY, O_RDWR } = fs.constants

/** What tells a file from every other one for as long as it is held open. */
export interface FilePlace {
  readonly dev: bigint
  readonly ino: bigint
}

/** Opens a file for appending, for us alone and never through a link; makes it where it is missing. */
export function openForAppending(path: string): number {
  return changing(path, () =>
    openFile(path, O_RDWR | O_APPEND | O_CREAT, (fd, mode) => {
      if ((mode & 0o077) !== 0) fs.fchmodSync(fd, 0o600)
    }),
  )
}

/** Opens a file for reading, never through a link; undefined when there is none. */
export function openForReading(path: string): number | undefined {
  return looking(path, () => ifThere(() => openFile(path, O_RDONLY)))
}

/** Only a real file: a pipe in its place would never come to an end. */
function openFile(path: string, flags: number, prepare?: (fd: number, mode: number) => void): number {
  const fd = fs.openSync(path, flags | O_NOFOLLOW | O_NONBLOCK, 0o600)
  try {
    const info = fs.fstatSync(fd)
    if (!info.isFile()) throw new StoreError('unavailable', `${path} is not a file; put the real file in its place`)
    prepare?.(fd, info.mode)
    return fd
  } catch (error) {
    fs.closeSync(fd)
    throw error
  }
}

/** The bytes of an open file from `start` on. */
export function bytesOf(fd: number, start = 0, end = fs.fstatSync(fd).size): Buffer {
  const bytes = Buffer.allocUnsafe(Math.max(0, end - start))
  let filled = 0
  while (filled < bytes.length) {
    const count = fs.readSync(fd, bytes, filled, bytes.length - filled, start + filled)
    if (count === 0) break
    filled += count
  }
  return bytes.subarray(0, filled)
}

/** The whole text of a small file; undefined when there is none. */
export function textOf(path: string): string | undefined {
  const fd = openForReading(path)
  if (fd === undefined) return undefined
  try {
    return looking(path, () => bytesOf(fd).toString())
  } finally {
    fs.closeSync(fd)
  }
}

/** A small JSON object; undefined when there is none, or when what is there is none. */
export function jsonOf<T extends object>(path: string): T | undefined {
  return objectIn(textOf(path) ?? '')
}

/** The same for a text that was read before: a file that is read twice may not be the same one. */
export function objectIn<T extends object>(text: string): T | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as T) : undefined
  } catch {
    return undefined
  }
}

export interface ReplaceOptions {
  /** Whether it must be on the disk before others see it. Default true. */
  readonly sync?: boolean
  readonly beforeRename?: () => void
}

/** Puts a file in the place of what is there, in one step. */
export function replaceFile(path: string, text: string, { sync = true, beforeRename }: ReplaceOptions = {}): void {
  const temporary = writeBeside(path, text, { sync })
  changing(path, () => {
    try {
      beforeRename?.()
      fs.renameSync(temporary, path)
    } catch (error) {
      fs.rmSync(temporary, { force: true })
      throw error
    }
  })
}

/** Makes a file with all its text, unless there is one already. */
export function createFile(path: string, text: string): void {
  const temporary = writeBeside(path, text)
  changing(path, () => {
    try {
      fs.linkSync(temporary, path)
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    } finally {
      fs.rmSync(temporary, { force: true })
    }
  })
}

/** Writes all of it under a name that nobody looks for. */
export function writeBeside(path: string, text: string, { sync = true }: { sync?: boolean } = {}): string {
  const temporary = `${path}.${randomUUID()}.tmp`
  changing(path, () => {
    const fd = fs.openSync(temporary, 'wx', 0o600)
    try {
      fs.writeFileSync(fd, text)
      if (sync) fs.fsyncSync(fd)
    } catch (error) {
      fs.rmSync(temporary, { force: true })
      throw error
    } finally {
      fs.closeSync(fd)
    }
  })
  return temporary
}

/** A folder for us alone; links are refused. Tells whether it is new. */
export function makeFolder(path: string): boolean {
  return changing(path, () => {
    const there = ifThere(() => fs.lstatSync(path))
    if (!there) {
      fs.mkdirSync(path, { recursive: true, mode: 0o700 })
      syncFolder(join(path, '..'))
      return true
    }
    if (there.isSymbolicLink())
      throw new StoreError('unavailable', `${path} is a symbolic link; put the real folder in its place`)
    if ((there.mode & 0o077) !== 0) fs.chmodSync(path, 0o700)
    return false
  })
}

/** Throws when a session's folder is a link, by which somebody else's files could be shown as a session. */
export function refuseLink(path: string): void {
  const there = looking(path, () => ifThere(() => fs.lstatSync(path)))
  if (there?.isSymbolicLink())
    throw new StoreError('unavailable', `${path} is a symbolic link; put the real folder in its place`)
}

/** What was made or renamed in a folder is on the disk only when the folder is. */
export function syncFolder(path: string): void {
  try {
    const fd = fs.openSync(path, 'r')
    try {
      fs.fsyncSync(fd)
    } finally {
      fs.closeSync(fd)
    }
  } catch (error) {
    if (!unsupported.has(codeOf(error) ?? '')) throw error
  }
}

/** What a system answers that cannot open or sync a folder. */
const unsupported = new Set(['EACCES', 'EBADF', 'EINVAL', 'EISDIR', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EPERM'])

/** Undefined when the file is missing, or lies in a folder that is. */
export function ifThere<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** The names in a folder; none when it is missing. */
export const namesIn = (path: string): string[] => looking(path, () => ifThere(() => fs.readdirSync(path)) ?? [])

/** Which file lies at a path now. */
export function placeOf(path: string): FilePlace | undefined {
  return looking(path, () => ifThere(() => fs.lstatSync(path, { bigint: true })))
}
