import { accessSync, constants, lstatSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../core/clock.ts'
import { codeOf, type StoreError } from '../../core/errors.ts'
import { GroupWriter, type Outcome } from './group-writer.ts'
import { isBusy, problemOf, storeError } from './problems.ts'
import { CachedStatements } from './statements.ts'
import type { WalSync } from './wal-sync.ts'

/** How long SQLite itself waits for a lock. It blocks this process meanwhile. */
export const lockWaitMs = 20

interface ConnectionOptions {
  readonly database: DatabaseSync
  readonly path: string
  /** How long to wait for locks of other processes. */
  readonly busyTimeoutMs: number
  /** Why nothing may be written; absent if writes are allowed. */
  readonly readOnlyReason?: StoreError | undefined
  /** Called in the transaction of the first write. */
  readonly onFirstWrite?: (connection: Connection) => void
  /** Makes commits durable, if SQLite itself does not. */
  readonly walSync?: WalSync | undefined
}

/** An open database. */
export class Connection extends CachedStatements {
  readonly readOnlyReason: StoreError | undefined
  readonly #database: DatabaseSync
  readonly #identity: string | undefined
  readonly #busyTimeoutMs: number
  readonly #walSync: WalSync | undefined
  readonly #writer = new GroupWriter({
    transaction: (work) => this.#writeTransaction(work),
    savepoint: (work) => this.#savepoint(work),
    sync: () => this.#sync(),
  })
  #onFirstWrite: ((connection: Connection) => void) | undefined

  constructor({ database, path, busyTimeoutMs, readOnlyReason, onFirstWrite, walSync }: ConnectionOptions) {
    super(database, path)
    this.#database = database
    this.#identity = fileIdentityAt(path)
    this.#busyTimeoutMs = busyTimeoutMs
    this.readOnlyReason = readOnlyReason
    this.#onFirstWrite = onFirstWrite
    this.#walSync = walSync
  }

  /** Runs `work` in a transaction, so that all its reads see the same state. `work` may be called several times. */
  async read<T>(work: () => T): Promise<T> {
    try {
      return await this.#transaction('BEGIN', work)
    } catch (error) {
      throw this.#explained(error)
    }
  }

  /**
   * Runs `work` in a transaction: all of it is written, durably, or nothing. `work` may be called several times, and writes
   * of other callers may share its transaction. Also rejects if the sync failed, because the commit may then not be durable,
   * and if the file at the path was replaced, because the commit then went to the old file.
   */
  async write<T>(work: () => T): Promise<T> {
    if (this.readOnlyReason) throw this.readOnlyReason
    try {
      return await this.#writer.write(work)
    } catch (error) {
      throw this.#explained(error)
    }
  }

  /** Changes whenever another connection has written. */
  dataVersion(): unknown {
    try {
      return this.statement('PRAGMA data_version').get()?.data_version
    } catch {
      return undefined // the next read reports the error
    }
  }

  /** Writes a consistent copy into an empty file, while others may write. */
  copyInto(path: string): void {
    if (this.readOnlyReason) this.#database.exec('PRAGMA query_only = OFF') // SQLite treats the copy as a write
    try {
      this.#database.prepare('VACUUM INTO ?').run(path)
    } finally {
      if (this.readOnlyReason) this.#database.exec('PRAGMA query_only = ON')
    }
  }

  /** Rewrites the file without the space of deleted data. Blocks this process; rejects if another process uses the file now. */
  async compact(): Promise<void> {
    if (this.readOnlyReason) throw this.readOnlyReason
    await this.#writer.idle()
    try {
      this.#database.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE)')
    } catch (error) {
      throw this.#explained(error)
    }
  }

  /** Whether something was written through this connection. */
  get hasWritten(): boolean {
    return this.#onFirstWrite === undefined
  }

  /** Closes the database after the writes that were asked for. */
  async close(lastWrite?: () => void): Promise<void> {
    await this.#writer.idle()
    try {
      if (lastWrite && this.hasWritten && !this.readOnlyReason) this.#attempt('BEGIN IMMEDIATE', lastWrite)
    } catch {
      // The next process that opens the file cleans up.
    }
    this.clear()
    this.#walSync?.close()
    if (isImmutable(this.path)) keepOpen(this.#database)
    else {
      unclosed.delete(this.#database)
      this.#database.close()
    }
  }

  async #writeTransaction(work: () => void): Promise<void> {
    const onFirstWrite = this.#onFirstWrite
    await this.#transaction('BEGIN IMMEDIATE', () => {
      onFirstWrite?.(this)
      work()
    })
    this.#onFirstWrite = undefined
  }

  #savepoint<T>(work: () => T): Outcome<T> {
    this.statement('SAVEPOINT one_write').run()
    try {
      const value = work()
      this.statement('RELEASE one_write').run()
      return { value }
    } catch (error) {
      // After some failures SQLite has rolled back the whole transaction.
      if (isBusy(error) || !this.#database.isTransaction) throw error
      this.statement('ROLLBACK TO one_write').run()
      this.statement('RELEASE one_write').run()
      return { error }
    }
  }

  async #sync(): Promise<boolean> {
    await this.#walSync?.sync()
    // A write is acknowledged only if the path still leads to the file that was written.
    if (fileIdentityAt(this.path) !== this.#identity) throw storeError('unavailable', this.path, moved)
    return this.#walSync !== undefined
  }

  async #transaction<T>(begin: string, work: () => T): Promise<T> {
    try {
      return this.#attempt(begin, work)
    } catch (error) {
      if (!isBusy(error)) throw error
      return retryWhileBusy(() => this.#attempt(begin, work), this.#busyTimeoutMs)
    }
  }

  #attempt<T>(begin: string, work: () => T): T {
    if (isImmutable(this.path)) {
      keepOpen(this.#database)
      throw storeError('read_only', this.path, immutable)
    }
    this.statement(begin).run()
    try {
      const result = work()
      this.statement('COMMIT').run()
      return result
    } catch (error) {
      this.#rollBack()
      throw error
    }
  }

  #rollBack(): void {
    try {
      this.statement('ROLLBACK').run()
    } catch {
      // After some failures SQLite has rolled back itself.
    }
  }

  #explained(error: unknown): Error {
    const problem = problemOf(error, this.path)
    // Tables of a newer version look damaged.
    return this.readOnlyReason?.code === 'newer' && 'code' in problem && problem.code === 'corrupt'
      ? this.readOnlyReason
      : problem
  }
}

const immutable = 'it was made immutable while it was open; see lsattr, and undo it with chattr -i'
const moved =
  'the file was moved, deleted or replaced while it was open; put it back, or close this store and make a new one'

/** Identifies the file at a path. While a file is open, its inode is not given to another file, so the two cannot be confused. */
function fileIdentityAt(path: string): string | undefined {
  const info = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return info && `${info.dev} ${info.ino}`
}

/** Repeats an attempt as long as it fails because of a lock and there is time left. Does not block in between. */
export async function retryWhileBusy<T>(attempt: () => T, timeoutMs: number): Promise<T> {
  // By the real clock: the process that holds the lock does not use the clock of this store.
  const deadline = performance.now() + timeoutMs
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, lockWaitMs)) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error
    }
    await new Promise<void>((resolve) => systemClock.timer(pauseMs, resolve))
  }
}

/**
 * Every transaction writes to the index of the WAL (-shm), which is mapped into memory. If that file was made immutable while
 * it was open (`chattr +i`), such a write raises SIGBUS, which ends the process. So this is checked before each transaction.
 * Permissions that are removed in other ways do not affect an open file.
 */
function isImmutable(path: string): boolean {
  try {
    accessSync(`${path}-shm`, constants.W_OK)
    return false
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/** Referenced here, because a database that is garbage collected is closed. */
const unclosed = new Set<DatabaseSync>()

/**
 * Closing an immutable database would write to it. Node closes open databases on exit; calling `process.exit()` in the exit
 * handler skips that.
 */
function keepOpen(database: DatabaseSync): void {
  if (unclosed.size === 0) process.once('exit', () => void (unclosed.size > 0 && process.exit()))
  unclosed.add(database)
}
