import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { AgentError, codeOf, messageOf, StoreError, type StoreErrorCode } from '../../core/errors.ts'

const { O_APPEND, O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY, O_RDWR } = fs.constants

/** Identifies a file as long as it is open. */
export interface FileIdentity {
  readonly dev: bigint
  readonly ino: bigint
}

/** Opens a file for appending, accessible only to this user and never through a link; creates it if it is missing. */
export function openForAppending(path: string): number {
  return withWriteErrors(path, () =>
    openFile(path, O_RDWR | O_APPEND | O_CREAT, (fd, mode) => {
      if ((mode & 0o077) !== 0) fs.fchmodSync(fd, 0o600)
    }),
  )
}

/** Opens a file for reading, never through a link; undefined if it is missing. */
export function openForReading(path: string): number | undefined {
  return withReadErrors(path, () => unlessMissing(() => openFile(path, O_RDONLY)))
}

/** Only a regular file: reading a pipe would never end. */
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
export function readBytes(fd: number, start = 0, end = fs.fstatSync(fd).size): Buffer {
  const bytes = Buffer.allocUnsafe(Math.max(0, end - start))
  let filled = 0
  while (filled < bytes.length) {
    const count = fs.readSync(fd, bytes, filled, bytes.length - filled, start + filled)
    if (count === 0) break
    filled += count
  }
  return bytes.subarray(0, filled)
}

/** The text of a small file; undefined if it is missing. */
export function readText(path: string): string | undefined {
  const fd = openForReading(path)
  if (fd === undefined) return undefined
  try {
    return withReadErrors(path, () => readBytes(fd).toString())
  } finally {
    fs.closeSync(fd)
  }
}

/** The JSON object in a small file; undefined if it is missing or not a JSON object. */
export function readJson<T extends object>(path: string): T | undefined {
  return parseObject(readText(path) ?? '')
}

/** The JSON object in a text; undefined if it is not one. */
export function parseObject<T extends object>(text: string): T | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as T) : undefined
  } catch {
    return undefined
  }
}

interface ReplaceOptions {
  /** Whether the content must be on the disk before others see it. Default true. */
  readonly sync?: boolean
  readonly beforeRename?: () => void
}

/** Creates or replaces a file in one step. */
export function replaceFile(path: string, text: string, { sync = true, beforeRename }: ReplaceOptions = {}): void {
  const temporary = writeBeside(path, text, { sync })
  withWriteErrors(path, () => {
    try {
      beforeRename?.()
      fs.renameSync(temporary, path)
    } catch (error) {
      fs.rmSync(temporary, { force: true })
      throw error
    }
  })
}

/** Creates a file with its whole text in one step, unless it exists. */
export function createFile(path: string, text: string): void {
  const temporary = writeBeside(path, text)
  withWriteErrors(path, () => {
    try {
      fs.linkSync(temporary, path)
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    } finally {
      fs.rmSync(temporary, { force: true })
    }
  })
}

/** Writes a temporary file beside the path. */
function writeBeside(path: string, text: string, { sync = true }: { sync?: boolean } = {}): string {
  const temporary = `${path}.${randomUUID()}.tmp`
  withWriteErrors(path, () => {
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

/** Creates a folder accessible only to this user; links are refused. Returns whether it is new. */
export function makeFolder(path: string): boolean {
  return withWriteErrors(path, () => {
    const info = unlessMissing(() => fs.lstatSync(path))
    if (!info) {
      fs.mkdirSync(path, { recursive: true, mode: 0o700 })
      syncFolder(join(path, '..'))
      return true
    }
    if (info.isSymbolicLink())
      throw new StoreError('unavailable', `${path} is a symbolic link; put the real folder in its place`)
    if ((info.mode & 0o077) !== 0) fs.chmodSync(path, 0o700)
    return false
  })
}

/** Throws if the path is a link, which could show foreign files as a session. */
export function refuseLink(path: string): void {
  const info = withReadErrors(path, () => unlessMissing(() => fs.lstatSync(path)))
  if (info?.isSymbolicLink())
    throw new StoreError('unavailable', `${path} is a symbolic link; put the real folder in its place`)
}

/** Makes the creation or renaming of files in a folder durable. */
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

/** Codes of systems that cannot open or sync a folder. */
const unsupported = new Set(['EACCES', 'EBADF', 'EINVAL', 'EISDIR', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EPERM'])

/** Undefined if the file or its folder is missing. */
export function unlessMissing<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** The names in a folder; none if it is missing. */
export const namesIn = (path: string): string[] =>
  withReadErrors(path, () => unlessMissing(() => fs.readdirSync(path)) ?? [])

/** The identity of the file that is at a path now. */
export function fileIdentityAt(path: string): FileIdentity | undefined {
  return withReadErrors(path, () => unlessMissing(() => fs.lstatSync(path, { bigint: true })))
}

/** Runs work that changes the store; a failure becomes a StoreError that names the file. */
export function withWriteErrors<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw storeErrorOf(cause, path, 'write')
  }
}

/** The same for work that only reads. */
export function withReadErrors<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw storeErrorOf(cause, path, 'read')
  }
}

/** The StoreError for a failed file operation. An AgentError is returned as it is. */
export function storeErrorOf(cause: unknown, path: string, what: 'read' | 'write'): Error {
  if (cause instanceof AgentError) return cause
  const code = codeOf(cause) ?? ''
  const [name, advice] = (what === 'write' && writeProblems[code]) || commonProblems[code] || unknownProblem
  return new StoreError(name, `Cannot ${what} ${path}: ${messageOf(cause)}; ${advice}`, { cause })
}

type Problem = readonly [StoreErrorCode, string]

const full: Problem = ['full', 'make room on the disk and try again; what was written before is safe']
const readOnly: Problem = ['read_only', 'make the folder writable for this user, or use another one']
const link: Problem = ['unavailable', 'symbolic links are not followed here; put the real file or folder in its place']
const unreadable: Problem = ['unavailable', 'let this user read the folder']
const tooMany: Problem = [
  'unavailable',
  'this process holds too many files open: end runs or close stores, or raise the limit (ulimit -n), then try again',
]
const unknownProblem: Problem = ['unavailable', 'check the disk and try again']

const writeProblems: Readonly<Record<string, Problem>> = {
  ENOSPC: full,
  EDQUOT: full,
  EFBIG: full,
  EROFS: readOnly,
  EACCES: readOnly,
  EPERM: readOnly,
}

const commonProblems: Readonly<Record<string, Problem>> = {
  ELOOP: link,
  EACCES: unreadable,
  EPERM: unreadable,
  EMFILE: tooMany,
  ENFILE: tooMany,
}
