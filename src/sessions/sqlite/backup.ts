import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { StoreError } from '../../core/errors.ts'
import type { Connection } from './connection.ts'
import { createEmpty, makeFolder, syncFolder } from './database-file.ts'
import { problemOf } from './problems.ts'

/** Writes a copy of the database, as it is at one moment, to a new file that only its owner may read. */
export function backUp(connection: Connection, to: string): void {
  const path = resolve(to)
  makeNewFile(path)
  try {
    connection.copyInto(path)
    syncFile(path)
    syncFolder(dirname(path))
  } catch (error) {
    rmSync(path, { force: true })
    // It is the original that is damaged, and the copy that finds no room.
    const problem = problemOf(error, path)
    throw 'code' in problem && problem.code === 'corrupt' ? problemOf(error, connection.path) : problem
  }
}

/** An empty file for its owner alone, where there was nothing. */
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
