import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { messageOf, StoreError } from '../../core/errors.ts'
import { networkFileSystemOf, type ReadMountTable } from '../../platform/network-fs.ts'
import { Connection, lockWaitMs, retryWhileBusy } from './connection.ts'
import { prepareDatabaseFile } from './database-file.ts'
import { corruptError, problemOf, storeError } from './problems.ts'
import { applicationId, migrate, schemaVersion } from './schema.ts'
import { CachedStatements } from './statements.ts'
import {
  isAliveHere,
  newStoreInstance,
  parseProcess,
  registerInstance,
  type StoreInstance,
  uncleanlyEnded,
  unregisterInstance,
} from './store-instances.ts'
import { createWalSync } from './wal-sync.ts'

interface OpenOptions {
  readonly path: string
  readonly synchronous: 'FULL' | 'NORMAL'
  readonly busyTimeoutMs: number
  readonly allowNetworkFileSystem: boolean
  readonly readMountTable?: ReadMountTable | undefined
}

export interface OpenDatabase {
  readonly connection: Connection
  readonly instance: StoreInstance
  close(): Promise<void>
}

/** Opens, creates or upgrades the database. Rejects with a StoreError. */
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
  const timeout = Math.min(busyTimeoutMs, lockWaitMs)
  const database = new DatabaseSync(path, { timeout, enableForeignKeyConstraints: true })
  try {
    database.exec(`PRAGMA trusted_schema = OFF; PRAGMA synchronous = ${synchronous}`)
    // On macOS an ordinary sync does not reach the disk; elsewhere this changes nothing.
    if (synchronous === 'FULL') database.exec('PRAGMA fullfsync = ON')
    const { readOnlyReason, ended } = prepareDatabase(database, path, journal)
    if (readOnlyReason) database.exec('PRAGMA query_only = ON')
    const instance = newStoreInstance()
    const onFirstWrite = (to: Connection): void => registerInstance(to, instance, ended)
    // A thread syncs the write-ahead log after each commit (wal-sync.ts), so that the event loop is not blocked. In these cases SQLite
    // does it, or nothing needs it:
    const doesSqliteSync =
      readOnlyReason || synchronous !== 'FULL' || journal !== 'WAL' || process.platform === 'darwin'
    const walSync = doesSqliteSync ? undefined : createWalSync(database, path)
    if (walSync) database.exec('PRAGMA synchronous = NORMAL')
    const connection = new Connection({ database, path, busyTimeoutMs, readOnlyReason, onFirstWrite, walSync })
    return { connection, instance, close: () => connection.close(() => unregisterInstance(connection, instance)) }
  } catch (error) {
    database.close()
    throw error
  }
}

interface PreparedDatabase {
  /** Why the database may only be read. */
  readonly readOnlyReason?: StoreError
  /** The keys of store instances that ended without closing the database. */
  readonly ended: readonly number[]
}

function prepareDatabase(database: DatabaseSync, path: string, journal: 'WAL' | 'DELETE'): PreparedDatabase {
  refuseForeignDatabase(database, path)
  const version = versionOf(database)
  if (version > schemaVersion) return { readOnlyReason: newer(path, version), ended: [] }
  useJournal(database, path, journal)
  if (version < schemaVersion) bringUpToDate(database, path)
  const ended = uncleanlyEnded(new CachedStatements(database, path))
  const damage = ended.length > 0 ? damageOf(database, path) : undefined
  return damage === undefined ? { ended } : { readOnlyReason: corruptError(path, damage), ended }
}

export const versionOf = (database: DatabaseSync): number =>
  Number(database.prepare('PRAGMA user_version').get()?.user_version)

const newer = (path: string, version: number): StoreError =>
  storeError('newer', path, `its version is ${version}, ours is ${schemaVersion}`)

/** Refuses a database of another program. */
function refuseForeignDatabase(database: DatabaseSync, path: string): void {
  const isEmpty = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
  const mark = database.prepare('PRAGMA application_id').get()?.application_id
  if (!isEmpty && mark !== applicationId) throw corruptError(path, 'it is a database of another program')
}

function useJournal(database: DatabaseSync, path: string, journal: 'WAL' | 'DELETE'): void {
  const mode = database.prepare(`PRAGMA journal_mode = ${journal}`).get()?.journal_mode
  if (String(mode).toUpperCase() === journal) {
    database.exec('PRAGMA journal_size_limit = 67108864') // shrinks the WAL after a burst
    return
  }
  throw storeError('unavailable', path, `SQLite cannot use the journal mode ${journal} there; it uses ${mode}`)
}

function bringUpToDate(database: DatabaseSync, path: string): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    const version = versionOf(database) // another process may have upgraded it meanwhile
    if (version === 2) refuseOlderWriters(database, path)
    migrate(database, path, version)
    database.exec('COMMIT')
  } catch (error) {
    rollBack(database)
    throw error
  }
}

/** A process with the previous version would append entries without updating the summaries. */
function refuseOlderWriters(database: DatabaseSync, path: string): void {
  const older = database
    .prepare('SELECT process FROM openers')
    .all()
    .find(({ process }) => isAliveHere(process))
  if (!older) return
  const { pid } = parseProcess(older.process) ?? {}
  throw storeError('busy', path, `process ${pid} uses it with an older version of Libero and has to end first`)
}

function rollBack(database: DatabaseSync): void {
  try {
    database.exec('ROLLBACK')
  } catch {
    // After some failures SQLite has rolled back by itself.
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

/** 243 MB took 0.2 s from memory; a cold or slow disk takes longer. Larger files are not checked as a whole. */
const maxCheckedBytes = 256 * 1024 * 1024

/** The damage that SQLite finds in the file. Undefined for an intact file, and for a file that is too large to check. */
function findDamage(database: DatabaseSync, path: string): string | undefined {
  if (statSync(path).size > maxCheckedBytes) return undefined
  const result = database.prepare('PRAGMA quick_check(1)').get()?.quick_check
  return result === 'ok' ? undefined : String(result)
}

/** Loads `node:sqlite`, and suppresses the warning of some versions of Node that it is experimental. */
export function loadSqlite(): { DatabaseSync: typeof DatabaseSync } {
  const { emitWarning } = process
  process.emitWarning = ((...args: Parameters<typeof emitWarning>) => {
    if (!isAboutSqlite(args[0])) Reflect.apply(emitWarning, process, args)
  }) as typeof emitWarning
  try {
    const loaded = process.getBuiltinModule('node:sqlite')
    if (loaded) return loaded
  } finally {
    process.emitWarning = emitWarning
  }
  throw new StoreError(
    'unavailable',
    `Node ${process.version} has no node:sqlite; use Node 22.18 or newer, or another store`,
  )
}

const isAboutSqlite = (warning: string | Error): boolean =>
  /^SQLite is an experimental feature/.test(typeof warning === 'string' ? warning : warning.message)
