import { chmodSync, closeSync, constants, fsyncSync, lstatSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf, StoreError } from '../../core/errors.ts'

/**
 * Makes sure that there is a file at `path` which only its owner may read: SQLite gives the files beside it (-wal,
 * -shm) the same mode. A file that others may read is closed to them. The look can be raced by somebody who may write
 * to the folder, which is why a folder that we make is closed to others.
 */
export function prepareDatabaseFile(path: string): void {
  makeFolder(dirname(path))
  // Never open a file that is there: closing it again would take away the locks that this process has on it.
  for (const file of [path, `${path}-wal`, `${path}-shm`]) closeToOthers(file)
  refuseLeftLog(path)
  createEmpty(path)
}

/** A write-ahead log holds what its database does not have yet; with another one beside it, it would be thrown away. */
function refuseLeftLog(path: string): void {
  const log = lstatSync(`${path}-wal`, { throwIfNoEntry: false })
  if (!log?.size || lstatSync(path, { throwIfNoEntry: false })) return
  throw new StoreError(
    'corrupt',
    `${path} is not there, but ${path}-wal is, with entries that belong to it; put the database back beside it, or move it away too`,
  )
}

/** Makes a folder for its owner alone, and those above it that are missing. */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, 0o700) // the recursive kind calls a read-only disk a missing folder
    syncFolder(dirname(path))
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error
    makeFolder(dirname(path))
    if (lstatSync(dirname(path), { throwIfNoEntry: false })) mkdirSync(path, 0o700)
    else throw error
  }
}

/** What is new in a folder is on the disk only when the folder is. Not every system can do that. */
export function syncFolder(path: string): void {
  try {
    const folder = openSync(path, 'r')
    try {
      fsyncSync(folder)
    } finally {
      closeSync(folder)
    }
  } catch {
    // Then it is up to the system.
  }
}

/** Makes an empty file for its owner alone. Returns whether there was none. */
export function createEmpty(path: string): boolean {
  try {
    closeSync(openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600))
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

function closeToOthers(path: string): void {
  const info = lstatSync(path, { throwIfNoEntry: false })
  if (!info) return
  if (!info.isFile()) {
    const what = info.isSymbolicLink() ? 'a symbolic link' : 'not a file'
    throw new StoreError('unavailable', `${path} is ${what}; pass the path of the database file itself`)
  }
  if (process.platform === 'win32') return
  // What lies beside a database that could not be written once may have been left like that.
  const isLocked = /-(?:wal|shm)$/.test(path) && (info.mode & 0o600) !== 0o600
  if ((info.mode & 0o077) !== 0 || isLocked) chmodSync(path, 0o600)
}
