import { chmodSync, closeSync, constants, fsyncSync, lstatSync, mkdirSync, openSync, rmSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { codeOf, StoreError } from '../../core/errors.ts'
import type { Connection } from './connection.ts'
import { problemOf } from './problems.ts'

/**
 * Creates or restricts the file at `path` so that only its owner may read it; SQLite gives the files beside it (-wal, -shm)
 * the same mode. A process that may write to the folder could race this check, so a new folder is restricted too.
 */
export function prepareDatabaseFile(path: string): void {
  makeFolder(dirname(path))
  // An existing file is not opened here: closing it would release all locks that this process has on it.
  for (const file of [path, `${path}-wal`, `${path}-shm`]) restrictToOwner(file)
  refuseOrphanedWal(path)
  createEmpty(path)
}

/** A write-ahead log contains entries that its database lacks; with a new database beside it, they would be lost. */
function refuseOrphanedWal(path: string): void {
  const wal = lstatSync(`${path}-wal`, { throwIfNoEntry: false })
  if (!wal?.size || lstatSync(path, { throwIfNoEntry: false })) return
  throw new StoreError(
    'corrupt',
    `${path} is not there, but ${path}-wal is, with entries that belong to it; put the database back beside it, or move the -wal file away as well`,
  )
}

/** Creates a folder that only its owner may access, with missing parents. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, 0o700) // the recursive variant reports a read-only disk as a missing folder
    syncFolder(dirname(path))
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error
    makeFolder(dirname(path))
    if (!lstatSync(dirname(path), { throwIfNoEntry: false })) throw error
    mkdirSync(path, 0o700)
    syncFolder(dirname(path))
  }
}

/** Makes new files in a folder durable, on systems that support it. */
function syncFolder(path: string): void {
  try {
    const folder = openSync(path, 'r')
    try {
      fsyncSync(folder)
    } finally {
      closeSync(folder)
    }
  } catch {
    // Not supported.
  }
}

/** Creates an empty file that only its owner may access. Returns false if it exists. */
function createEmpty(path: string): boolean {
  try {
    closeSync(openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600))
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

function restrictToOwner(path: string): void {
  const info = lstatSync(path, { throwIfNoEntry: false })
  if (!info) return
  if (!info.isFile()) {
    const what = info.isSymbolicLink() ? 'a symbolic link' : 'not a file'
    throw new StoreError('unavailable', `${path} is ${what}; pass the path of the database file itself`)
  }
  if (process.platform === 'win32') return
  // A read-only database may have left files that its owner cannot write.
  const ownerCannotWrite = /-(?:wal|shm)$/.test(path) && (info.mode & 0o600) !== 0o600
  if ((info.mode & 0o077) !== 0 || ownerCannotWrite) chmodSync(path, 0o600)
}

/** Writes a consistent copy of the database to a new file that only its owner may read. */
export function backUp(connection: Connection, to: string): void {
  const path = resolve(to)
  makeNewFile(path)
  try {
    connection.copyInto(path)
    syncFile(path)
    syncFolder(dirname(path))
  } catch (error) {
    rmSync(path, { force: true })
    // Damage is in the original; any other problem is with the copy.
    const problem = problemOf(error, path)
    throw 'code' in problem && problem.code === 'corrupt' ? problemOf(error, connection.path) : problem
  }
}

/** Creates an empty file that only its owner may access; throws if it exists. */
export function makeNewFile(path: string): void {
  try {
    makeFolder(dirname(path))
    if (createEmpty(path)) return
  } catch (error) {
    throw problemOf(error, path)
  }
  throw new StoreError('unavailable', `${path} is there already and is not overwritten; pass the path of a new file`)
}

function syncFile(path: string): void {
  const file = openSync(path, 'r+')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
