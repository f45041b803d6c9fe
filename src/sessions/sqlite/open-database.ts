import { randomUUID } from 'node:crypto'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { messageOf, type StoreError } from '../../core/errors.ts'
import { networkFileSystemOf, type ReadMountTable } from '../../platform/network-fs.ts'
import { Connection, longestBlockMs, retryWhileBusy } from './connection.ts'
import { prepareDatabaseFile } from './database-file.ts'
import { loadSqlite } from './load-sqlite.ts'
import { enter, findDamage, goneOpeners, leave } from './openers.ts'
import { corruptError, problemOf, storeError } from './problems.ts'
import { applicationId, migrate, steps } from './schema.ts'

export interface OpenOptions {
  readonly path: string
  readonly synchronous: 'FULL' | 'NORMAL'
  readonly busyTimeoutMs: number
  readonly allowNetworkFileSystem: boolean
  readonly readMountTable?: ReadMountTable | undefined
}

export interface OpenDatabase {
  readonly connection: Connection
  close(): void
}

/** Opens the database, makes it where there is none, and brings it up to date. Rejects with a StoreError. */
export async function openDatabase(options: OpenOptions): Promise<OpenDatabase> {
  try {
    const network = networkFileSystemOf(dirname(options.path), options.readMountTable)
    if (network !== undefined && !options.allowNetworkFileSystem)
      throw storeError('network_fs', options.path, `its type is ${network}`)
    prepareDatabaseFile(options.path)
    return await retryWhileBusy(() => openOnce(options, network ? 'DELETE' : 'WAL'), options.busyTimeoutMs)
  } catch (error) {
    throw problemOf(error, options.path)
  }
}

function openOnce({ path, synchronous, busyTimeoutMs }: OpenOptions, journal: 'WAL' | 'DELETE'): OpenDatabase {
  const { DatabaseSync } = loadSqlite()
  const timeout = Math.min(busyTimeoutMs, longestBlockMs)
  const database = new DatabaseSync(path, { timeout, enableForeignKeyConstraints: true })
  try {
    database.exec(`PRAGMA trusted_schema = OFF; PRAGMA synchronous = ${synchronous}`)
    // On macOS an ordinary sync does not reach the disk; elsewhere this changes nothing.
    if (synchronous === 'FULL') database.exec('PRAGMA fullfsync = ON')
    const { refusal, gone } = getReady(database, path, journal)
    if (refusal) database.exec('PRAGMA query_only = ON')
    const id = randomUUID()
    const onFirstWrite = (to: Connection): void => enter(to, id, gone)
    const connection = new Connection({ database, path, busyTimeoutMs, refusal, onFirstWrite })
    return { connection, close: () => connection.close(() => leave(connection, id)) }
  } catch (error) {
    database.close()
    throw error
  }
}

interface Readiness {
  /** Why it may only be read. */
  readonly refusal?: StoreError
  /** Those who wrote to it and did not stop cleanly. */
  readonly gone: readonly string[]
}

function getReady(database: DatabaseSync, path: string, journal: 'WAL' | 'DELETE'): Readiness {
  const found = versionOf(database)
  if (found > steps.length) return { refusal: newer(path, found), gone: [] }
  refuseStrangers(database, path)
  useJournal(database, path, journal)
  if (found < steps.length) bringUpToDate(database)
  const gone = goneOpeners(database)
  const damage = gone.length > 0 ? damageOf(database, path) : undefined
  return damage === undefined ? { gone } : { refusal: corruptError(path, damage), gone }
}

const versionOf = (database: DatabaseSync): number =>
  Number(database.prepare('PRAGMA user_version').get()?.user_version)

const newer = (path: string, version: number): StoreError =>
  storeError('newer', path, `its version is ${version}, ours is ${steps.length}`)

/** The tables of another program are not ours to change. */
function refuseStrangers(database: DatabaseSync, path: string): void {
  const isEmpty = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
  const mark = database.prepare('PRAGMA application_id').get()?.application_id
  if (!isEmpty && mark !== applicationId) throw corruptError(path, 'it is a database of another program')
}

function useJournal(database: DatabaseSync, path: string, journal: 'WAL' | 'DELETE'): void {
  const mode = database.prepare(`PRAGMA journal_mode = ${journal}`).get()?.journal_mode
  if (String(mode).toUpperCase() === journal) {
    database.exec('PRAGMA journal_size_limit = 67108864') // after a burst the log shrinks again
    return
  }
  throw storeError('unavailable', path, `SQLite cannot use the ${journal} journal there, but ${mode}`)
}

function bringUpToDate(database: DatabaseSync): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    // Somebody else may have done it while we waited.
    migrate(database, versionOf(database))
    database.exec('COMMIT')
  } catch (error) {
    rollBack(database)
    throw error
  }
}

function rollBack(database: DatabaseSync): void {
  try {
    database.exec('ROLLBACK')
  } catch {
    // After some failures SQLite has done so by itself.
  }
}

function damageOf(database: DatabaseSync, path: string): string | undefined {
  try {
    return findDamage(database, path)
  } catch (error) {
    const problem = problemOf(error, path)
    if ('code' in problem && problem.code === 'corrupt') return messageOf(error)
    throw error
  }
}
