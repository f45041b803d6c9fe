import { accessSync, constants, lstatSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { systemClock } from '../../core/clock.ts'
import type { StoreError } from '../../core/errors.ts'
import { codeOf } from '../../core/errors.ts'
import { isBusy, problemOf, storeError } from './problems.ts'

/** How long SQLite itself waits for a lock, during which nothing else can happen in this process. */
export const longestBlockMs = 20

export interface ConnectionOptions {
  readonly database: DatabaseSync
  readonly path: string
  /** How long to wait for others before giving up. */
  readonly busyTimeoutMs: number
  /** Why nothing may be written, where that is so. */
  readonly refusal?: StoreError | undefined
  /** What the first write does besides, in its transaction. */
  readonly onFirstWrite?: (connection: Connection) => void
}

/** An open database: keeps its statements, and runs work in transactions, one after the other. */
export class Connection {
  readonly path: string
  readonly refusal: StoreError | undefined
  readonly #database: DatabaseSync
  readonly #place: string | undefined
  readonly #busyTimeoutMs: number
  readonly #statements = new Map<string, StatementSync>()
  #onFirstWrite: ((connection: Connection) => void) | undefined
  /** Settles when whoever waits for a lock got it or gave up; others stand in line behind. */
  #line: Promise<void> | undefined

  constructor({ database, path, busyTimeoutMs, refusal, onFirstWrite }: ConnectionOptions) {
    this.#database = database
    this.path = path
    this.#place = placeOf(path)
    this.#busyTimeoutMs = busyTimeoutMs
    this.refusal = refusal
    this.#onFirstWrite = onFirstWrite
  }

  /** A statement, compiled by its first use. */
  statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  /** All of `work` sees the same state. */
  async read<T>(work: () => T): Promise<T> {
    try {
      return await this.#inTurn('BEGIN', work)
    } catch (error) {
      throw this.#explained(error)
    }
  }

  /** All of `work` happens, and is on the disk, or nothing. It may be tried several times, but happens once. */
  async write<T>(work: () => T): Promise<T> {
    if (this.refusal) throw this.refusal
    const first = this.#onFirstWrite
    const whole = first
      ? () => {
          first(this)
          return work()
        }
      : work
    try {
      const result = await this.#inTurn('BEGIN IMMEDIATE', whole)
      this.#onFirstWrite = undefined
      // After the write: then whoever opens that path from now on finds what is acknowledged here.
      if (placeOf(this.path) !== this.#place) throw storeError('unavailable', this.path, moved)
      return result
    } catch (error) {
      throw this.#explained(error)
    }
  }

  /** Changes whenever another connection has written. */
  dataVersion(): unknown {
    try {
      return this.statement('PRAGMA data_version').get()?.data_version
    } catch {
      return undefined // whoever looks then gets the error, if it is one
    }
  }

  /** Writes a copy of one moment into an empty file, while others go on writing. */
  copyInto(path: string): void {
    if (this.refusal) this.#database.exec('PRAGMA query_only = OFF') // SQLite takes the copy for a write
    try {
      this.#database.prepare('VACUUM INTO ?').run(path)
    } finally {
      if (this.refusal) this.#database.exec('PRAGMA query_only = ON')
    }
  }

  /** Whether something was written through this connection. */
  get hasWritten(): boolean {
    return this.#onFirstWrite === undefined
  }

  close(lastWrite?: () => void): void {
    try {
      if (lastWrite && this.hasWritten && !this.refusal) this.#attempt('BEGIN IMMEDIATE', lastWrite)
    } catch {
      // What is not tidied up now is found by the next one to open it.
    }
    this.#statements.clear()
    if (isFrozen(this.path)) keepOpen(this.#database)
    else {
      unclosed.delete(this.#database)
      this.#database.close()
    }
  }

  async #inTurn<T>(begin: string, work: () => T): Promise<T> {
    while (this.#line) await this.#line
    try {
      return this.#attempt(begin, work)
    } catch (error) {
      if (!isBusy(error)) throw error
    }
    const outcome = retryWhileBusy(() => this.#attempt(begin, work), this.#busyTimeoutMs)
    const leave = (): void => {
      this.#line = undefined
    }
    this.#line = outcome.then(leave, leave)
    return outcome
  }

  #attempt<T>(begin: string, work: () => T): T {
    if (isFrozen(this.path)) {
      keepOpen(this.#database)
      throw storeError('read_only', this.path, frozen)
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
      // After some failures SQLite has done so by itself.
    }
  }

  #explained(error: unknown): Error {
    const problem = problemOf(error, this.path)
    // Tables that a newer version changed look like damage.
    return this.refusal?.code === 'newer' && 'code' in problem && problem.code === 'corrupt' ? this.refusal : problem
  }
}

const frozen = 'it was made immutable while it was open; see lsattr, and undo it with chattr -i'
const moved =
  'the file was moved, deleted or replaced while it was open; put it back, or close this store and make a new one'

/** Which file lies there now. One that is held open keeps its number, so no other can be mistaken for it. */
function placeOf(path: string): string | undefined {
  const found = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev} ${found.ino}`
}

/** Tries again, giving others their turn in between, until it succeeds, fails otherwise, or the time is up. */
export async function retryWhileBusy<T>(attempt: () => T, timeoutMs: number): Promise<T> {
  // By the real clock: whoever holds the lock does not live by ours.
  const deadline = performance.now() + timeoutMs
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, longestBlockMs)) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error
    }
    await new Promise<void>((resolve) => systemClock.timer(pauseMs, resolve))
  }
}

/**
 * Every transaction, a reading one too, writes to the index of the log (-shm), which is mapped into memory. If that file
 * was made immutable meanwhile (`chattr +i`), the kernel answers such a write with SIGBUS, which ends the process; so it is
 * asked first. Rights that are taken away by other means do not count for a file that is open.
 */
function isFrozen(path: string): boolean {
  try {
    accessSync(`${path}-shm`, constants.W_OK)
    return false
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/** They belong to the process: one that the garbage collector took would be closed by it. */
const unclosed = new Set<DatabaseSync>()

/** To close a frozen database would write to it. The end of the process would close it as well, unless `exit` cuts it short. */
function keepOpen(database: DatabaseSync): void {
  if (unclosed.size === 0) process.once('exit', () => void (unclosed.size > 0 && process.exit()))
  unclosed.add(database)
}
