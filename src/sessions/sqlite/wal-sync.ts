import { closeSync, fdatasync, openSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { messageOf, StoreError } from '../../core/errors.ts'

/** Makes commits durable without blocking the event loop. */
export interface WalSync {
  sync(): Promise<void>
  close(): void
}

/**
 * For a database with a write-ahead log and `synchronous = NORMAL`, where a commit only writes to that log: syncs the log in
 * a thread of Node. SQLite itself syncs the log before a checkpoint copies it into the database, and the database before the
 * log is overwritten, so a commit that was synced stays durable.
 */
export function createWalSync(database: DatabaseSync, path: string): WalSync {
  // Safe to open and close here: closing a file releases all locks this process has on it, but SQLite takes none on the -wal
  // file.
  const file = openSync(`${path}-wal`, 'r+')
  let isInDoubt = false
  return {
    async sync() {
      try {
        if (isInDoubt) copyIntoDatabase(database)
        else
          await new Promise<void>((resolve, reject) => fdatasync(file, (error) => (error ? reject(error) : resolve())))
        isInDoubt = false
      } catch (error) {
        isInDoubt = true
        const message = `${path}: the disk did not confirm the last writes, so that it is unknown whether they are kept; check the disk, then read again`
        throw new StoreError('unavailable', `${message} (${messageOf(error)})`, { cause: error })
      }
    },
    close: () => closeSync(file),
  }
}

/**
 * After a failed sync the next one may succeed although the data was lost, because the system has dropped it. A checkpoint
 * writes the data again, into the database, and syncs that.
 */
function copyIntoDatabase(database: DatabaseSync): void {
  const { busy, log, checkpointed } = database.prepare('PRAGMA wal_checkpoint(FULL)').get() ?? {}
  if (busy !== 0 || log !== checkpointed) throw new Error('another process keeps the database from being synced')
}
