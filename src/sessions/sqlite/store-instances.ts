import { randomInt } from 'node:crypto'
import { type ProcessIdentity, processState, thisProcess } from '../../platform/process-identity.ts'
import type { SessionRow } from './session-rows.ts'
import type { SqlDatabase } from './statements.ts'

/**
 * One store object of a process. It has a row in the table `openers` from its first write until it is closed; the column `opener` of
 * a session is the key of the instance that has its lease (`SessionRow.leased_by`).
 */
export interface StoreInstance {
  readonly key: number
  /** The process as JSON. */
  readonly process: string
}

/** The key is random, so that it is never used again, even after its row was removed. */
export const newStoreInstance = (): StoreInstance => ({
  key: randomInt(2 ** 47),
  process: JSON.stringify(thisProcess()),
})

/** Parses a process stored in the database. Undefined if the text is not one. */
export function parseProcess(text: unknown): ProcessIdentity | undefined {
  if (typeof text !== 'string') return undefined
  try {
    const value = JSON.parse(text) as ProcessIdentity | null
    return typeof value?.pid === 'number' ? value : undefined
  } catch {
    return undefined
  }
}

type InstanceState = 'this process' | 'alive' | 'dead' | 'unknown' | 'closed'

/**
 * Tells whether the store instance that has a lease is alive. Remembers the state of each process, so use a new object for each
 * transaction.
 */
export class LeaseLiveness {
  readonly #database: SqlDatabase
  readonly #own: StoreInstance
  readonly #now: number
  readonly #states = new Map<number, InstanceState>()

  constructor(database: SqlDatabase, own: StoreInstance, now: number) {
    this.#database = database
    this.#own = own
    this.#now = now
  }

  /**
   * Whether a lease is held. A lease of another process is held exactly as long as that process lives, whatever its expiry time
   * says, because the clock may have been changed. The expiry time decides for leases of this process, and for those of a
   * process in another container, whose state cannot be seen.
   */
  isHeld({ leased_by, expires }: Pick<SessionRow, 'leased_by' | 'expires'>): boolean {
    if (leased_by === null) return false
    const state = this.#stateOf(leased_by)
    if (state === 'this process' || state === 'unknown') return expires > this.#now
    return state === 'alive'
  }

  /**
   * The process that lost this lease without giving it back, and how many leases it had: a process that died, or one in another
   * container (whose state cannot be seen) whose lease has expired. Undefined if the lease was given back, or is still held. Requires a
   * transaction.
   */
  deathOf(row: SessionRow): { readonly processId: string; readonly sessions: number } | undefined {
    if (row.leased_by === null || this.isHeld(row)) return undefined
    const state = this.#stateOf(row.leased_by)
    if (state !== 'dead' && state !== 'unknown') return undefined
    const process = String(this.#database.statement(instanceProcessSql).get(row.leased_by)?.process)
    return { processId: processIdOf(process), sessions: countLeases(this.#database, process) }
  }

  #stateOf(instance: number): InstanceState {
    const known = this.#states.get(instance)
    if (known) return known
    const process = this.#database.statement(instanceProcessSql).get(instance)?.process
    const state = process === undefined ? 'closed' : stateOf(process, this.#own)
    this.#states.set(instance, state)
    return state
  }
}

const instanceProcessSql = 'SELECT process FROM openers WHERE key = ?'

function stateOf(process: unknown, own: StoreInstance): 'this process' | 'alive' | 'dead' | 'unknown' {
  if (process === own.process) return 'this process'
  const identity = parseProcess(process)
  return identity ? processState(identity) : 'unknown'
}

function processIdOf(process: string): string {
  const { host, pid, started } = parseProcess(process) ?? {}
  return [host, pid, started].join('/')
}

/** How many leases a process had when it died. Counted once and then stored, because other processes take these leases one by one. */
function countLeases(database: SqlDatabase, process: string): number {
  const { leases } =
    database.statement('SELECT max(leases) AS leases FROM openers WHERE process = ?').get(process) ?? {}
  if (typeof leases === 'number') return leases
  const { n } = database.statement(instanceLeasesSql).get(process) ?? {}
  database.statement('UPDATE openers SET leases = ? WHERE process = ?').run(n ?? 1, process)
  return Number(n ?? 1)
}

const instanceLeasesSql = `SELECT count(*) AS n FROM openers JOIN sessions ON sessions.opener = openers.key
  WHERE openers.process = ?`

/**
 * The keys of store instances that ended without closing the database, if the file has not been checked since. The state of a process in
 * another container cannot be seen: its instance is listed once, so that the file is checked, and keeps its leases. If the process lived
 * and crashes later, the file is not checked again for it.
 */
export function uncleanlyEnded(database: SqlDatabase): number[] {
  const rows = database.statement('SELECT key, process FROM openers WHERE is_checked = 0').all()
  return rows.flatMap(({ key, process }) => (isAliveHere(process) ? [] : [Number(key)]))
}

export function isAliveHere(process: unknown): boolean {
  const identity = parseProcess(process)
  return identity !== undefined && processState(identity) === 'alive'
}

/** Inserts the row of a store instance, and cleans up after those that ended uncleanly. Requires a transaction. */
export function registerInstance(database: SqlDatabase, own: StoreInstance, ended: readonly number[]): void {
  insertInstance(database, own)
  for (const key of ended) {
    const process = database.statement(instanceProcessSql).get(key)?.process
    if (stateOf(process, own) === 'dead') {
      dropUnwritten(database, key)
      countLeases(database, String(process))
    }
    database.statement('UPDATE openers SET is_checked = 1 WHERE key = ?').run(key)
    deleteInstanceIfUnused(database, key)
  }
}

/**
 * Inserts the row of a store instance, unless it exists. A process in another container may have taken this instance for dead, and
 * stored how many leases it had: that count is cleared. Requires a transaction.
 */
export function insertInstance(database: SqlDatabase, { key, process }: StoreInstance): void {
  database.statement(insertInstanceSql).run(key, process)
}

const insertInstanceSql = `INSERT INTO openers (key, process) VALUES (?, ?)
  ON CONFLICT DO UPDATE SET leases = NULL WHERE leases IS NOT NULL`

/** Deletes the row of a store instance that ended, if no lease names it any more. Requires a transaction. */
export function deleteInstanceIfUnused(database: SqlDatabase, instance: number): void {
  database.statement(deleteInstanceIfUnusedSql).run(instance)
}

const deleteInstanceIfUnusedSql = `DELETE FROM openers WHERE key = ? AND is_checked = 1
  AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.opener = openers.key)`

/** Releases the leases of a store instance that is being closed, and deletes its row. Requires a transaction. */
export function unregisterInstance(database: SqlDatabase, { key }: StoreInstance): void {
  dropUnwritten(database, key)
  database.statement('UPDATE sessions SET opener = NULL, expires = 0 WHERE opener = ?').run(key)
  database.statement('DELETE FROM openers WHERE key = ?').run(key)
}

/** Deletes the sessions that a store instance leased and never wrote to. */
function dropUnwritten(database: SqlDatabase, instance: number): void {
  const rows = database.statement('SELECT key FROM sessions WHERE opener = ? AND head = 0').all(instance)
  for (const { key } of rows) dropIfUnwritten(database, Number(key))
}

/** Deletes a session that has no entry and no message. Returns whether it did. Requires a transaction. */
export function dropIfUnwritten(database: SqlDatabase, key: number): boolean {
  const { id } = database.statement(unwrittenSql).get(key) ?? {}
  if (id === undefined) return false
  database.statement('DELETE FROM blobs WHERE session = ?').run(id)
  database.statement('DELETE FROM sessions WHERE key = ?').run(key)
  return true
}

const unwrittenSql = 'SELECT id FROM sessions WHERE key = ? AND head = 0 AND has_mail = 0'
