import { resolve } from 'node:path'
import { type Clock, systemClock } from '../core/clock.ts'
import { AgentError, SessionNotFoundError, StoreError } from '../core/errors.ts'
import { failpoint } from '../core/log.ts'
import type { SessionStore, StoreChange } from '../core/store.ts'
import { digestOf } from '../platform/digest.ts'
import { parseQuery } from './session-query.ts'
import { type SessionStamp, SharedPoller } from './shared-poller.ts'
import { type SpillingStore, withSpill } from './spill.ts'
import { appendEntries } from './sqlite/append.ts'
import { blobNames, deleteBlob, findBlob, putBlob } from './sqlite/blobs.ts'
import { backUp } from './sqlite/database-file.ts'
import { deleteTree } from './sqlite/delete-session.ts'
import { addMessage, readInbox } from './sqlite/inbox.ts'
import { lease } from './sqlite/leases.ts'
import { listSessions } from './sqlite/list-sessions.ts'
import { readSpan, spanOf } from './sqlite/log-reader.ts'
import { type OpenDatabase, openDatabase } from './sqlite/open-database.ts'
import { readForkBase, readInPieces } from './sqlite/read-in-pieces.ts'
import { pieceSize } from './sqlite/read-stored-summary.ts'
import { SessionRows } from './sqlite/session-rows.ts'
import { rowReader, summarize } from './sqlite/session-summary.ts'
import type { SqlDatabase } from './sqlite/statements.ts'
import { LeaseLiveness } from './sqlite/store-instances.ts'
import { decodeText, encodeText } from './sqlite/stored-values.ts'
import { watchByPolling } from './watch-by-polling.ts'

export type { Clock } from '../core/clock.ts'
export { rescueSqlite } from './sqlite/rescue.ts'

export interface SqliteStoreOptions {
  /**
   * The database file. It and its folder are created if they are missing, accessible only to their owner (0600, 0700); a
   * file that others may read is restricted when it is opened. A symbolic link is refused.
   */
  readonly path: string
  /**
   * `FULL` (the default): acknowledged writes survive a power loss. `NORMAL` is faster: a power loss may lose the last
   * writes, a crash of the process loses nothing.
   */
  readonly synchronous?: 'FULL' | 'NORMAL'
  /** How long a write waits for writes of other processes. Default 5000. */
  readonly busyTimeoutMs?: number
  /** The interval at which a watcher polls for changes of other processes. Default 200. */
  readonly pollMs?: number
  /**
   * Allow a network file system. Then a rollback journal replaces the write-ahead log, which cannot work there; whether
   * locks work depends on that file system.
   */
  readonly allowNetworkFileSystem?: boolean
  readonly clock?: Clock
  /** For tests: the mount table, in the form of Linux' /proc/self/mountinfo. */
  readonly readMountTable?: () => string | undefined
}

/** A store in one file, for any number of processes on one machine. */
export interface SqliteStore extends SessionStore {
  /** A random id that was given to the store when it was created. */
  identity(): Promise<string>
  close(): Promise<void>
  /**
   * Writes a consistent copy to a new file, while other processes may write. (Copying the file itself would miss what is still
   * in its -wal file.) An existing file is not overwritten.
   */
  backup(toPath: string): Promise<void>
  /**
   * Returns the space of deleted sessions to the file system. Without this, the file keeps that space and new sessions reuse it.
   * Rewrites the whole file, and blocks this process meanwhile; rejects with `busy` if another process uses the file at that
   * moment.
   */
  compact(): Promise<void>
}

/**
 * Sessions in an SQLite file. It is opened on first use and stays open until `close()`. If a process ended without `close()`,
 * the next process checks the file for damage, unless it is larger than 256 MB. A damaged file is not written to: its readable
 * parts can be read, and `rescueSqlite` copies them into a new file.
 */
export function createSqliteStore(options: SqliteStoreOptions): SqliteStore {
  const { synchronous = 'FULL', busyTimeoutMs = 5000, pollMs = 200, clock = systemClock } = options
  const { allowNetworkFileSystem = false, readMountTable } = options
  checkOptions({ path: options.path, synchronous, busyTimeoutMs, pollMs })
  const path = resolve(options.path)
  const poller = new SharedPoller({ clock, everyMs: pollMs, readStamps })
  let lastDataVersion: unknown
  const closing = new AbortController()
  let opened: Opened | undefined
  let opening: Promise<Opened> | undefined

  async function open(): Promise<Opened> {
    if (closing.signal.aborted) throw new StoreError('unavailable', `The store of ${path} was closed; make a new one`)
    opening ??= openDatabase({ path, synchronous, busyTimeoutMs, allowNetworkFileSystem, readMountTable }).then(
      (database) => ({ ...database, rows: new SessionRows(database.connection) }),
    )
    try {
      opened = await opening
      return opened
    } catch (error) {
      opening = undefined // the next call tries again: the disk may have space by then
      throw error
    }
  }

  async function read<T>(work: (database: Opened) => T): Promise<T> {
    const database = opened ?? (await open())
    return database.connection.read(() => work(database))
  }

  async function write<T>(work: (database: Opened) => T): Promise<T> {
    const database = opened ?? (await open())
    return database.connection.write(() => work(database))
  }

  /**
   * For each watched session, a text that changes whenever its entries change, and one for its messages. Undefined if no other
   * connection has written since the last poll.
   */
  async function readStamps(ids: readonly string[]) {
    const { connection } = opened ?? (await open())
    const current = connection.dataVersion()
    if (current !== undefined && current === lastDataVersion) return undefined
    lastDataVersion = current
    return connection.read(() => stampsOf(connection, ids))
  }

  const livenessIn = ({ connection, instance }: Opened): LeaseLiveness =>
    new LeaseLiveness(connection, instance, clock.now())

  // `withSpill` replaces large entries by stubs that name a blob, and back: the functions below only see stubs.
  return withSpill({
    async append(id, entries, fence, content) {
      const bodies = entries.map((entry) => JSON.stringify(entry))
      failpoint('sqlite.append.begin', entries)
      const forkBase = fence.base === undefined ? undefined : await readForkBase(read, fence.base, fence.head)
      const appended = await write(({ connection, rows }) =>
        appendEntries(connection, rows, { id, entries, bodies, content, fence, forkBase }),
      )
      if (appended) opened?.rows.remember(id, appended)
      failpoint('sqlite.append.afterCommit', entries)
      poller.wake(id, 'entries')
    },

    read: (id, range = {}) => readInPieces(read, id, range),

    find: (id) =>
      read((database) => {
        const row = database.rows.find(id)
        return row && row.head > 0 ? summarize(database.connection, livenessIn(database), row) : undefined
      }),

    async list(query) {
      const parsed = parseQuery(query)
      return read((database) => {
        const liveness = livenessIn(database)
        return listSessions(database.connection, parsed, rowReader(database.connection, liveness))
      })
    },

    async delete(id) {
      const deleted = await write(({ connection }) => deleteTree(connection, id))
      // A deletion is reported as a change of the inbox, because that wakes every watcher. A change of the entries would not wake those
      // that watch only the inbox.
      for (const deletedId of deleted) poller.wake(deletedId, 'inbox')
    },

    async lease(id, request) {
      const now = clock.now()
      const outcome = await write(({ connection, instance, rows }) =>
        lease(connection, rows, { id, now, instance, request }),
      )
      // Thrown here, not in the transaction: if the clock was set back, `lease` has corrected the expiry of the other process's lease,
      // and a rollback would undo that.
      if (outcome instanceof AgentError) throw outcome
      return outcome
    },

    async send(id, item) {
      const isNew = await write(({ connection, rows }) => {
        const row = rows.find(id)
        if (!row) throw new SessionNotFoundError(id)
        return addMessage(connection, row, item)
      })
      if (isNew) poller.wake(id, 'inbox')
    },

    watch(id, { after = 0, signal, inboxOnly = false, once = false }) {
      const poll = (seen: number): Promise<StoreChange> =>
        read(({ connection, rows }) => {
          const row = rows.find(id)
          if (!inboxOnly && seen > (row?.head ?? 0)) throw new SessionNotFoundError(id) // it was deleted meanwhile
          if (!row) return { entries: [], inbox: [] }
          const lastWanted = inboxOnly ? 0 : row.head // 0: no entry is read
          const span = spanOf({ after: seen, limit: pieceSize }, lastWanted)
          return { entries: readSpan(connection, row, span).entries, inbox: readInbox(connection, row) }
        })
      const subscribe = (wake: () => void): (() => void) => poller.add(id, { wake, inboxOnly })
      return watchByPolling(poll, { after, signal, once, closing: closing.signal, clock, subscribe })
    },

    blobs: (id) => ({
      async put(bytes) {
        const copy = new Uint8Array(bytes)
        const name = digestOf(copy)
        await write(({ connection, rows }) => {
          if (!rows.find(id)) throw new SessionNotFoundError(id) // prune would remove a blob without a session
          putBlob(connection, id, name, copy)
        })
        return name
      },
      get: (name) => read(({ connection, rows }) => findBlob(connection, id, name, rows.find(id))),
      names: () => read(({ connection }) => blobNames(connection, id)),
      delete: (name) => write(({ connection }) => deleteBlob(connection, id, name)),
    }),

    identity: () =>
      read(({ connection }) =>
        String(connection.statement(`SELECT value FROM store WHERE name = 'identity'`).get()?.value),
      ),

    async backup(toPath) {
      const { connection } = opened ?? (await open())
      backUp(connection, toPath)
    },

    async compact() {
      const { connection } = opened ?? (await open())
      await connection.compact()
    },

    async close() {
      if (closing.signal.aborted) return
      closing.abort()
      const last = opened ?? (await opening?.catch(() => undefined))
      opened = undefined
      await last?.close()
    },
  } satisfies SpillingStore & Pick<SqliteStore, 'backup' | 'compact'>)
}

interface Opened extends OpenDatabase {
  readonly rows: SessionRows
}

type CheckedOptions = Required<Pick<SqliteStoreOptions, 'path' | 'synchronous' | 'busyTimeoutMs' | 'pollMs'>>

function checkOptions({ path, synchronous, busyTimeoutMs, pollMs }: CheckedOptions): void {
  if (typeof path !== 'string' || path === '' || path === ':memory:')
    throw new TypeError(`createSqliteStore needs the path of a file, got ${JSON.stringify(path)}`)
  if (synchronous !== 'FULL' && synchronous !== 'NORMAL')
    throw new TypeError(`synchronous must be 'FULL' or 'NORMAL', got ${JSON.stringify(synchronous)}`)
  if (!(busyTimeoutMs >= 0)) throw new TypeError(`busyTimeoutMs must be 0 or more, got ${busyTimeoutMs}`)
  if (!(pollMs > 0)) throw new TypeError(`pollMs must be more than 0, got ${pollMs}`)
}

/** The stamps of these sessions, read by one query. The stamp of a session also changes when it is created or deleted. */
function stampsOf(database: SqlDatabase, ids: readonly string[]): Map<string, SessionStamp> {
  const stamps = new Map(ids.map((id) => [id, missing]))
  for (const { id, key, head, mail } of database.statement(stampsSql).all(JSON.stringify(ids.map(encodeText))))
    stamps.set(decodeText(String(id)), { entries: `${key} ${head}`, inbox: `${key} ${mail ?? ''}` })
  return stamps
}

const missing: SessionStamp = { entries: '', inbox: '' }

const stampsSql = `SELECT session.id, session.key, session.head, CASE WHEN session.has_mail THEN
    (SELECT max(position) FROM inbox WHERE inbox.session = session.key AND inbox.body IS NOT NULL) END AS mail
  FROM json_each(?) AS watched CROSS JOIN sessions AS session ON session.id = watched.value`
