import { setTimeout as delay } from 'node:timers/promises'
import { codeOf, StoreError } from '../../../core/errors.ts'
import { isBusy } from '../../sqlite/problems.ts'
import { discardIndex, IndexDatabase, isDamage } from './index-database.ts'

/** How long work waits for other processes that write to the index. */
const maxWaitMs = 2000
/** After the index failed, it is tried again after this time. */
export const retryMs = 5000

/** The index of a store as long as it can be used: it may be missing, deleted, damaged, locked, or not writable. */
export class IndexConnection {
  readonly #dir: string
  readonly #identity: () => string | undefined
  #opening: Promise<IndexDatabase | undefined> | undefined
  #failedAt = Number.NEGATIVE_INFINITY
  #isClosed = false

  /** `identity` is that of the store; undefined if it has no index. */
  constructor(dir: string, identity: () => string | undefined) {
    this.#dir = dir
    this.#identity = identity
  }

  /** Undefined if there is no index now. */
  async get(): Promise<IndexDatabase | undefined> {
    const opening = this.#opening
    const opened = await opening
    if (opened?.isCurrent()) return opened
    if (opening && this.#opening === opening) {
      this.#opening = undefined
      opened?.close() // the file was deleted
    }
    this.#opening ??= this.#open()
    return this.#opening
  }

  async #open(): Promise<IndexDatabase | undefined> {
    const identity = this.#identity()
    if (identity === undefined || this.#isClosed || performance.now() - this.#failedAt < retryMs) return undefined
    try {
      return await whenFree(() => IndexDatabase.open(this.#dir, identity))
    } catch (error) {
      if (!(error instanceof StoreError) && !isIndexFailure(error)) throw error
      this.#failedAt = performance.now()
      return undefined
    }
  }

  /**
   * Does work with the index, and repeats it while another process is writing. Undefined if there is no index, or it fails. Rejects
   * if the work fails for another reason, such as a file of a session that cannot be read.
   */
  async use<T>(work: (database: IndexDatabase) => T | Promise<T>): Promise<T | undefined> {
    const database = await this.get()
    if (!database) return undefined
    try {
      return await whenFree(() => work(database))
    } catch (error) {
      if (!isDamage(error, database.path) && !isIndexFailure(error)) throw error
      await this.#close(database, error)
      return undefined
    }
  }

  /** A damaged index is removed, so that the next one is made from the folders. Any other failure may pass. */
  async #close(database: IndexDatabase, error: unknown): Promise<void> {
    if ((await this.#opening) === database) {
      this.#opening = undefined
      database.close()
    }
    if (isDamage(error, database.path)) await discardIndex(this.#dir)
    else if (!isBusy(error)) this.#failedAt = performance.now()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const opened = await this.#opening
    this.#opening = undefined
    opened?.close()
  }
}

/** Whether an error is one of SQLite, also of a damaged or closed database, or of the file system: then the index is not used. */
function isIndexFailure(error: unknown): boolean {
  return /^(ERR_SQLITE_ERROR|ERR_INVALID_STATE|ERR_OUT_OF_RANGE|E[A-Z]+)$/.test(codeOf(error) ?? '')
}

async function whenFree<T>(work: () => T | Promise<T>): Promise<T> {
  const deadline = performance.now() + maxWaitMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
    }
    await delay(1 + Math.random() * 10)
  }
}
