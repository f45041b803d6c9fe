import * as fs from 'node:fs'
import { uptime } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { codeOf, StoreError } from '../../../core/errors.ts'
import { thisProcess } from '../../../platform/process-identity.ts'
import { createListIndexes } from '../../sqlite/list-indexes.ts'
import { loadSqlite } from '../../sqlite/open-database.ts'
import { problemOf } from '../../sqlite/problems.ts'
import { type AnyRow, CachedStatements, type SqlDatabase, type TypedStatement } from '../../sqlite/statements.ts'
import { type FileIdentity, fileIdentityAt, makeFolder } from '../files.ts'
import { withFolderLock } from '../folder-lock.ts'
import { indexFolder } from './change-file.ts'

/** Marks the file as an index of Libero: "Libi". */
const applicationId = 0x4c_69_62_69
/** An index of another format is made anew. */
const indexFormat = 1

const tables = `
  CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  -- The columns up to has_mail are those of the SQLite store, so that its queries find the sessions of a list. has_mail is 2
  -- if one of the messages is an answer. name: the folder. size: that of the log up to head. inbox: differs after the inbox
  -- has changed. opener: the process that took the lease and has not given it back. revision: how often the row was changed.
  CREATE TABLE sessions (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    parent TEXT,
    head INTEGER NOT NULL DEFAULT 0,
    record TEXT,
    record_sum INTEGER,
    updated REAL,
    created REAL,
    status TEXT,
    needs_attention INTEGER NOT NULL DEFAULT 0,
    tenant TEXT,
    kind TEXT,
    folder TEXT,
    has_mail INTEGER NOT NULL DEFAULT 0,
    name TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL DEFAULT 0,
    inbox TEXT NOT NULL DEFAULT '',
    opener TEXT,
    revision INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  CREATE TABLE tags (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    tag TEXT NOT NULL,
    updated REAL NOT NULL,
    created REAL NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (session, tag)
  ) STRICT;

  ${createListIndexes()};
  CREATE INDEX held ON sessions (opener) WHERE opener IS NOT NULL;

  -- Processes that died with leases, and how many leases they had.
  CREATE TABLE deaths (process TEXT PRIMARY KEY, leases INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`

/**
 * `.index/index.db`: what lists need to know of the sessions, as an SQLite database. It can be made anew from the folders at
 * any time, so nothing of it is synced.
 */
export class IndexDatabase implements SqlDatabase {
  readonly path: string
  readonly #database: DatabaseSync
  readonly #statements: CachedStatements
  readonly #file: FileIdentity | undefined

  private constructor(path: string, database: DatabaseSync) {
    this.path = path
    this.#database = database
    this.#statements = new CachedStatements(database, path)
    this.#file = fileIdentityAt(path)
  }

  /** Opens the index of a store, or makes one. `identity` is that of the store. */
  static async open(dir: string, identity: string): Promise<IndexDatabase> {
    const path = pathOf(dir)
    makeFolder(indexFolder(dir))
    const openExisting = () => (fs.existsSync(path) ? openUsable(path, identity) : undefined)
    const makeOne = () => openExisting() ?? create(path, identity)
    return new IndexDatabase(path, openExisting() ?? (await withFolderLock(indexFolder(dir), makeOne)))
  }

  /** Whether the file was not deleted since it was opened. */
  isCurrent(): boolean {
    const now = fileIdentityAt(this.path)
    return now !== undefined && now.ino === this.#file?.ino && now.dev === this.#file.dev
  }

  statement<Row = AnyRow>(sql: string): TypedStatement<Row> {
    return this.#statements.statement(sql)
  }

  /** Does work in a transaction. Throws at once if another process is writing. */
  write<T>(work: () => T): T {
    this.statement('BEGIN IMMEDIATE').run()
    try {
      const result = work()
      this.statement('COMMIT').run()
      return result
    } catch (error) {
      if (this.#database.isTransaction) this.statement('ROLLBACK').run()
      throw error
    }
  }

  /** Whether SQLite finds no damage. */
  isSound(): boolean {
    return this.statement('PRAGMA quick_check(1)').get()?.quick_check === 'ok'
  }

  /** Whether all folders were looked at since the machine started: after a power failure, changes may be missing. */
  isChecked(): boolean {
    return this.statement(`SELECT value FROM facts WHERE name = 'boot'`).get()?.value === bootOf()
  }

  setChecked(): void {
    this.write(() => this.statement(`INSERT OR REPLACE INTO facts VALUES ('boot', ?)`).run(bootOf()))
  }

  close(): void {
    this.#statements.clear()
    this.#database.close()
  }
}

const pathOf = (dir: string): string => join(indexFolder(dir), 'index.db')

/** Removes an index that is damaged; the next one is made from the folders. */
export async function discardIndex(dir: string): Promise<void> {
  await withFolderLock(indexFolder(dir), () => removeFiles(pathOf(dir)))
}

function removeFiles(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) fs.rmSync(`${path}${suffix}`, { force: true })
}

/** Undefined if the file is not an index of this store and this format, or is damaged. */
function openUsable(path: string, identity: string): DatabaseSync | undefined {
  let database: DatabaseSync | undefined
  try {
    database = connect(path)
    if (isIndexOf(database, identity)) return database
  } catch (error) {
    if (!isDamage(error, path)) throw error
  }
  database?.close()
  return undefined
}

function isIndexOf(database: DatabaseSync, identity: string): boolean {
  const { application_id, user_version } = database.prepare(marksSql).get() ?? {}
  if (application_id !== applicationId || user_version !== indexFormat) return false
  return database.prepare(`SELECT value FROM facts WHERE name = 'identity'`).get()?.value === identity
}

const marksSql = 'SELECT application_id, user_version FROM pragma_application_id, pragma_user_version'

/** Whether the index itself is at fault, so that a new one helps. */
export function isDamage(error: unknown, path: string): boolean {
  if (error instanceof StoreError) return error.code === 'corrupt' && error.message.startsWith(path)
  return codeOf(error) === 'ERR_SQLITE_ERROR' && (problemOf(error, path) as StoreError).code === 'corrupt'
}

function create(path: string, identity: string): DatabaseSync {
  removeFiles(path)
  // SQLite gives the files beside it the same mode.
  fs.closeSync(fs.openSync(path, 'wx', 0o600))
  const database = connect(path)
  try {
    database.exec(`BEGIN IMMEDIATE; ${tables};
      PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${indexFormat}`)
    database.prepare(`INSERT INTO facts VALUES ('identity', ?)`).run(identity)
    database.exec('COMMIT')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

function connect(path: string): DatabaseSync {
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync(path, { timeout: 0, enableForeignKeyConstraints: true })
  try {
    database.exec(`PRAGMA trusted_schema = OFF; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
      PRAGMA journal_size_limit = 16777216`)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Identifies the start of the machine. On a system without boot ids it is the minute of the start, which may vary by one. */
function bootOf(): string {
  return thisProcess().boot || `since ${Math.round((Date.now() / 1000 - uptime()) / 60)}`
}
