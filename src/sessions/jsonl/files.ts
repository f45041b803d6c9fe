import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { codeOf, StoreError } from '../../core/errors.ts'
import { syncFolder } from '../../platform/files.ts'
import { withReadErrors, withWriteErrors } from './file-errors.ts'

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

/** Creates or replaces a file in one step. It is on the disk before others see it. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await withWriteErrors(path, async () => {
    const temporary = writeBeside(path, text)
    await orRemove(temporary, async () => {
      await syncFile(temporary)
      fs.renameSync(temporary, path)
    })
  })
}

/** Replaces a file synchronously. A power failure may lose it. `prepare` changes the new file before other processes see it. */
export function replaceFileUnsynced(path: string, text: string, prepare: (temporary: string) => void): void {
  withWriteErrors(path, () => {
    const temporary = writeBeside(path, text)
    orRemove(temporary, () => {
      prepare(temporary)
      fs.renameSync(temporary, path)
    })
  })
}

/** Creates a file with its whole text in one step, unless it exists. */
export async function createFile(path: string, text: string): Promise<void> {
  await withWriteErrors(path, async () => {
    const temporary = writeBeside(path, text)
    await orRemove(temporary, async () => {
      await syncFile(temporary)
      linkUnlessExisting(temporary, path)
      fs.rmSync(temporary)
    })
  })
}

function linkUnlessExisting(from: string, to: string): void {
  try {
    fs.linkSync(from, to)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
}

/** Writes a temporary file beside the path. */
function writeBeside(path: string, text: string): string {
  const temporary = `${path}.${randomUUID()}.tmp`
  return orRemove(temporary, () => {
    fs.writeFileSync(temporary, text, { flag: 'wx', mode: 0o600 })
    return temporary
  })
}

/** Removes a file if work with it fails, at once or later. */
function orRemove<T>(path: string, work: () => T): T {
  const remove = (error: unknown): never => {
    fs.rmSync(path, { force: true })
    throw error
  }
  try {
    const result = work()
    return result instanceof Promise ? (result.catch(remove) as T) : result
  } catch (error) {
    return remove(error)
  }
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Waits until the data of an open file are on the disk. The event loop goes on meanwhile. */
export const syncData = promisify(fs.fdatasync)

/** Creates a folder accessible only to this user; links are refused. Returns whether it is new. */
export function makeFolder(path: string): boolean {
  return withWriteErrors(path, () => {
    const info = unlessMissing(() => fs.lstatSync(path))
    if (!info) return fs.mkdirSync(path, { recursive: true, mode: 0o700 }) !== undefined
    if (info.isSymbolicLink())
      throw new StoreError('unavailable', `${path} is a symbolic link; put the real folder in its place`)
    if ((info.mode & 0o077) !== 0) fs.chmodSync(path, 0o700)
    return false
  })
}

/** The same, and a new one is on the disk when this resolves. */
export function makeDurableFolder(path: string): Promise<void> {
  return withWriteErrors(path, async () => {
    if (makeFolder(path)) await syncFolder(join(path, '..'))
  })
}

/** Throws if the path is a link, which could show foreign files as a session. */
export function refuseLink(path: string): void {
  const info = withReadErrors(path, () => unlessMissing(() => fs.lstatSync(path)))
  if (info?.isSymbolicLink())
    throw new StoreError('unavailable', `${path} is a symbolic link; put the real folder in its place`)
}

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
  return withReadErrors(path, () => fs.lstatSync(path, { bigint: true, throwIfNoEntry: false }))
}

/** Returns a function that tells whether a file is at a path now. */
export function fileCheck(path: string, { dev, ino }: FileIdentity): () => boolean {
  const [exactDev, exactIno] = [Number(dev), Number(ino)]
  const lstat = (): fs.Stats | undefined => fs.lstatSync(path, { throwIfNoEntry: false })
  return () => {
    // Numbers take less time, and are exact up to 2 ** 53.
    if (!Number.isSafeInteger(exactIno) || !Number.isSafeInteger(exactDev)) {
      const now = fileIdentityAt(path)
      return now?.ino === ino && now.dev === dev
    }
    const now = withReadErrors(path, lstat)
    return now?.ino === exactIno && now.dev === exactDev
  }
}

/** Differs after the file has changed; empty if it is missing. */
export function changeStamp(path: string): string {
  const info = withReadErrors(path, () => fs.statSync(path, { bigint: true, throwIfNoEntry: false }))
  return info ? `${info.ino} ${info.size} ${info.mtimeNs}` : ''
}
