import { lstatSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { StoreError } from '../../core/errors.ts'
import { baseSum } from './base.ts'
import { makeNewFile } from './database-file.ts'
import { loadSqlite, versionOf } from './open-database.ts'
import { problemOf } from './problems.ts'
import {
  copyBlobs,
  copyEntries,
  copyMessages,
  copySessions,
  copyStore,
  type Losses,
  type Source,
} from './rescue-tables.ts'
import { migrate } from './schema.ts'
import type { SessionRow } from './session-rows.ts'
import { CachedStatements } from './statements.ts'
import { checksumOf, decodeText, entryKey, entryKeysEnd, isTombstone } from './stored-values.ts'
import { fillSummaries } from './upgrade.ts'

/**
 * Copies everything readable of a damaged store into a new store, `to`; `from` is only read. An entry of type `lost` replaces a lost
 * entry between others, so that these keep their numbers. Writers must take their leases again. A session whose name
 * is unreadable is called `rescued-<number>`.
 */
export async function rescueSqlite({ from, to }: { from: string; to: string }): Promise<{
  readonly sessions: number
  readonly entries: number
  /** Messages that were not delivered yet. */
  readonly messages: number
  readonly blobs: number
  /** The parts of the damaged store that are missing in its copy. */
  readonly lost: readonly {
    /** Absent if its session is unknown. */
    readonly session?: string
    readonly what: string
  }[]
}> {
  const [source, target] = [resolve(from), resolve(to)]
  if (!lstatSync(source, { throwIfNoEntry: false })?.isFile())
    throw new StoreError('unavailable', `There is no file ${source} to rescue; check the path`)
  makeNewFile(target)
  try {
    return copyReadable(source, target)
  } catch (error) {
    rmSync(target, { force: true })
    throw problemOf(error, source)
  }
}

type Report = Awaited<ReturnType<typeof rescueSqlite>>

function copyReadable(from: string, to: string): Report {
  const { DatabaseSync } = loadSqlite()
  const source = new DatabaseSync(from, { readOnly: true })
  try {
    source.exec('PRAGMA trusted_schema = OFF')
    source.prepare('SELECT count(*) FROM sqlite_schema').get() // fails here if nothing can be read
    const target = new DatabaseSync(to, { enableForeignKeyConstraints: false })
    try {
      return fill(target, { database: source, format: versionOf(source) }, to)
    } finally {
      target.close()
    }
  } finally {
    source.close()
  }
}

function fill(target: DatabaseSync, source: Source, path: string): Report {
  const lost: Report['lost'][number][] = []
  const losses: Losses = {
    add(what, session) {
      lost.push(session === undefined ? { what } : { session, what })
    },
  }
  target.exec('BEGIN IMMEDIATE')
  migrate(target, path, 0)
  copyStore(source, target, losses)
  copySessions(source, target, losses)
  const entries = copyEntries(source, target, losses)
  const messages = copyMessages(source, target, losses)
  const blobs = copyBlobs(source, target, losses)
  const sessions = repairSessions(target, losses)
  fillSummaries(new CachedStatements(target, path))
  target.exec('COMMIT')
  return { sessions, entries, messages, blobs, lost }
}

/** Gives every entry a session, and every session a log without gaps and its head. Returns the number of sessions. */
function repairSessions(target: DatabaseSync, losses: Losses): number {
  nameUnnamedSessions(target)
  const repairs = new Repairs(target, losses)
  const rows = target.prepare('SELECT key, id FROM sessions ORDER BY key').all()
  for (const { key } of rows) repairs.repair(Number(key))
  return rows.filter(({ id }) => !isTombstone(String(id))).length
}

function nameUnnamedSessions(target: DatabaseSync): void {
  const nameless = target.prepare(`SELECT session FROM (SELECT session FROM entries UNION SELECT session FROM inbox)
    WHERE session NOT IN (SELECT key FROM sessions)`)
  const isTaken = target.prepare('SELECT 1 FROM sessions WHERE id = ?')
  const insert = target.prepare('INSERT INTO sessions (key, id) VALUES (?, ?)')
  for (const { session } of nameless.all()) {
    let name = `rescued-${session}`
    while (isTaken.get(name)) name += '-again'
    insert.run(Number(session), name)
  }
}

/** A session as its row describes it, before its entries are checked. */
type SessionClaim = Pick<SessionRow, 'key' | 'id' | 'head' | 'base' | 'base_head' | 'base_sum'>

class Repairs {
  readonly #target: DatabaseSync
  readonly #losses: Losses
  /** The heads of the sessions that were repaired; 0 for a session that is being repaired. */
  readonly #heads = new Map<number, number>()

  constructor(target: DatabaseSync, losses: Losses) {
    this.#target = target
    this.#losses = losses
  }

  /** Makes the log of a session complete. Returns its head; 0 for a session that is not there. */
  repair(key: number): number {
    const known = this.#heads.get(key)
    if (known !== undefined) return known
    this.#heads.set(key, 0)
    const select = 'SELECT key, id, head, base, base_head, base_sum FROM sessions WHERE key = ?'
    const session = this.#target.prepare(select).get(key) as SessionClaim | undefined
    const head = session ? this.#repairLog(session) : 0
    this.#heads.set(key, head)
    return head
  }

  #repairLog(session: SessionClaim): number {
    const { key, id, head } = session
    const name = isTombstone(id) ? undefined : decodeText(id)
    let seq = this.#shareWithBase(session)
    let lastAt = 0
    const rows = this.#target
      .prepare('SELECT seq, at FROM entries WHERE place > ? AND place < ? ORDER BY place')
      .all(entryKey(key, seq), entryKeysEnd(key))
    for (const row of rows) {
      const nextSeq = Number(row.seq)
      if (nextSeq > seq + 1) {
        this.#losses.add(rangeOf(seq + 1, nextSeq - 1), name)
        fillGap(this.#target, { key, from: seq + 1, to: nextSeq - 1, at: lastAt })
      }
      seq = nextSeq
      lastAt = Number(row.at ?? lastAt)
    }
    if (head > seq) this.#losses.add(rangeOf(seq + 1, head), name)
    this.#target.prepare('UPDATE sessions SET head = ? WHERE key = ?').run(seq, key)
    return seq
  }

  /** Returns how many entries a session shares with the session from which it was forked, as far as these entries were found. */
  #shareWithBase({ key, base, base_head, base_sum }: SessionClaim): number {
    const isIntact = base !== null && base_head !== null && base_sum === baseSum(key, base, base_head)
    const shared = isIntact ? Math.min(base_head, this.repair(base)) : 0
    const values = isIntact && shared > 0 ? [base, shared, baseSum(key, base, shared)] : [null, null, null]
    this.#target.prepare('UPDATE sessions SET base = ?, base_head = ?, base_sum = ? WHERE key = ?').run(...values, key)
    return shared
  }
}

const rangeOf = (from: number, to: number): string => (from === to ? `entry ${from}` : `entries ${from} to ${to}`)

function fillGap(target: DatabaseSync, gap: { key: number; from: number; to: number; at: number }): void {
  const insert = target.prepare('INSERT INTO entries (place, at, sum, body) VALUES (?, ?, ?, ?)')
  for (let seq = gap.from; seq <= gap.to; seq++) {
    const body = JSON.stringify({ seq, id: `lost-${seq}`, at: gap.at, type: 'lost' })
    insert.run(entryKey(gap.key, seq), gap.at, checksumOf(body, gap.key), body)
  }
}
