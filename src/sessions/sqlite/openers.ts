import { randomInt } from 'node:crypto'
import { type ProcessIdentity, processState, thisProcess } from '../../platform/process-identity.ts'
import type { SessionRow } from './session-rows.ts'
import type { Statements } from './statements.ts'

/** A store object of a process. It has a row in the table `openers` from its first write until it is closed. */
export interface Opener {
  readonly key: number
  /** The process as JSON. */
  readonly process: string
}

/** Random, so that a key is never used again, even if its row was removed. */
export const newOpener = (): Opener => ({ key: randomInt(2 ** 47), process: JSON.stringify(thisProcess()) })

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

type OpenerState = 'own' | 'alive' | 'dead' | 'unknown' | 'closed'

/** The openers that sessions name as their holders. Each process is looked at only once, so this is for one moment. */
export class Holders {
  readonly #database: Statements
  readonly #own: Opener
  readonly #now: number
  readonly #states = new Map<number, OpenerState>()

  constructor(database: Statements, own: Opener, now: number) {
    this.#database = database
    this.#own = own
    this.#now = now
  }

  /**
   * Whether a lease is held. The process counts before the clock, which may have been changed: a lease of another process is
   * held exactly as long as that process lives. The clock decides about leases of this process, and of one that cannot be
   * looked at because it is in another container.
   */
  isHeld({ opener, expires }: Pick<SessionRow, 'opener' | 'expires'>): boolean {
    if (opener === null) return false
    const state = this.#stateOf(opener)
    if (state === 'own' || state === 'unknown') return expires > this.#now
    return state === 'alive'
  }

  /** If the last holder of a session died with the lease: its process, and how many sessions it held. Requires a transaction. */
  deathOf(row: SessionRow): { readonly processId: string; readonly sessions: number } | undefined {
    if (row.opener === null || this.isHeld(row)) return undefined
    const state = this.#stateOf(row.opener)
    if (state !== 'dead' && state !== 'unknown') return undefined
    const process = String(this.#database.statement(processSql).get(row.opener)?.process)
    return { processId: processIdOf(process), sessions: countLeases(this.#database, process) }
  }

  #stateOf(opener: number): OpenerState {
    const known = this.#states.get(opener)
    if (known) return known
    const process = this.#database.statement(processSql).get(opener)?.process
    const state = process === undefined ? 'closed' : stateOf(process, this.#own)
    this.#states.set(opener, state)
    return state
  }
}

const processSql = 'SELECT process FROM openers WHERE key = ?'

function stateOf(process: unknown, own: Opener): 'own' | 'alive' | 'dead' | 'unknown' {
  if (process === own.process) return 'own'
  const identity = parseProcess(process)
  return identity ? processState(identity) : 'unknown'
}

function processIdOf(process: string): string {
  const { host, pid, started } = parseProcess(process) ?? {}
  return [host, pid, started].join('/')
}

/** How many leases a process held when it died: counted once, because others take them one after the other. */
function countLeases(database: Statements, process: string): number {
  const { leases } =
    database.statement('SELECT max(leases) AS leases FROM openers WHERE process = ?').get(process) ?? {}
  if (typeof leases === 'number') return leases
  const { n } = database.statement(leasesSql).get(process) ?? {}
  database.statement('UPDATE openers SET leases = ? WHERE process = ?').run(n ?? 1, process)
  return Number(n ?? 1)
}

const leasesSql = `SELECT count(*) AS n FROM openers JOIN sessions ON sessions.opener = openers.key
  WHERE openers.process = ?`

/**
 * Openers that ended without closing the database, since it was last checked. Whether a process in another container lives is
 * unknown: it counts as ended, which does it no harm.
 */
export function uncheckedOpeners(database: Statements): number[] {
  const rows = database.statement('SELECT key, process FROM openers WHERE is_checked = 0').all()
  return rows.flatMap(({ key, process }) => (isAliveHere(process) ? [] : [Number(key)]))
}

export function isAliveHere(process: unknown): boolean {
  const identity = parseProcess(process)
  return identity !== undefined && processState(identity) === 'alive'
}

/** Adds an opener to the table, and does what is left to do for those that ended. Requires a transaction. */
export function registerOpener(database: Statements, own: Opener, ended: readonly number[]): void {
  insertOpener(database, own)
  for (const key of ended) {
    const process = database.statement(processSql).get(key)?.process
    if (stateOf(process, own) === 'dead') {
      dropUnwritten(database, key)
      countLeases(database, String(process))
    }
    database.statement('UPDATE openers SET is_checked = 1 WHERE key = ?').run(key)
    removeUnused(database, key)
  }
}

/** Adds an opener to the table, unless it is there. Requires a transaction. */
export function insertOpener(database: Statements, { key, process }: Opener): void {
  database.statement('INSERT INTO openers (key, process) VALUES (?, ?) ON CONFLICT DO NOTHING').run(key, process)
}

/** Removes an ended opener whose leases all belong to others now. Requires a transaction. */
export function removeUnused(database: Statements, opener: number): void {
  database.statement(removeUnusedSql).run(opener)
}

const removeUnusedSql = `DELETE FROM openers WHERE key = ? AND is_checked = 1
  AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.opener = openers.key)`

/** Gives back the leases of an opener that is being closed. Requires a transaction. */
export function unregisterOpener(database: Statements, { key }: Opener): void {
  dropUnwritten(database, key)
  database.statement('UPDATE sessions SET opener = NULL, expires = 0 WHERE opener = ?').run(key)
  database.statement('DELETE FROM openers WHERE key = ?').run(key)
}

/** Sessions that were leased and never written disappear with the lease. */
function dropUnwritten(database: Statements, opener: number): void {
  const rows = database.statement('SELECT key FROM sessions WHERE opener = ? AND head = 0').all(opener)
  for (const { key } of rows) dropIfUnwritten(database, Number(key))
}

/** Deletes a session that has no entry and no message. Returns whether it did. Requires a transaction. */
export function dropIfUnwritten(database: Statements, key: number): boolean {
  const { id } = database.statement(unwrittenSql).get(key) ?? {}
  if (id === undefined) return false
  database.statement('DELETE FROM blobs WHERE session = ?').run(id)
  database.statement('DELETE FROM sessions WHERE key = ?').run(key)
  return true
}

const unwrittenSql = 'SELECT id FROM sessions WHERE key = ? AND head = 0 AND has_mail = 0'
