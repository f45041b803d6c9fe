import { lstatSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { StoreError } from '../../core/errors.ts'
import { makeNewFile } from './database-file.ts'
import { loadSqlite } from './open-database.ts'
import { problemOf } from './problems.ts'
import { copyBlobs, copyEntries, copyMessages, copySessions, copyStore, type Losses } from './rescue-tables.ts'
import { migrate } from './schema.ts'
import { checksumOf, decodeText, entryKey, entryKeysEnd } from './stored-values.ts'

/** A part of a damaged store that is missing in its copy. */
export interface LostPart {
  /** Absent if its session is unknown. */
  readonly session?: string
  readonly what: string
}

/** The result of a rescue: what was copied, and what was lost. */
export interface RescueReport {
  readonly sessions: number
  readonly entries: number
  /** Messages that were not delivered yet. */
  readonly messages: number
  readonly blobs: number
  readonly lost: readonly LostPart[]
}

/**
 * Copies everything readable of a damaged store into a new one, `to`; `from` is only read. A lost entry between others is
 * replaced by one of type `lost`, so that all keep their numbers. Writers must take their leases again. A session whose name
 * is unreadable is called `rescued-<number>`.
 */
export async function rescueSqlite({ from, to }: { from: string; to: string }): Promise<RescueReport> {
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

function copyReadable(from: string, to: string): RescueReport {
  const { DatabaseSync } = loadSqlite()
  const source = new DatabaseSync(from, { readOnly: true })
  try {
    source.exec('PRAGMA trusted_schema = OFF')
    source.prepare('SELECT count(*) FROM sqlite_schema').get() // fails here if nothing can be read
    const target = new DatabaseSync(to, { enableForeignKeyConstraints: false })
    try {
      return fill(target, source)
    } finally {
      target.close()
    }
  } finally {
    source.close()
  }
}

function fill(target: DatabaseSync, source: DatabaseSync): RescueReport {
  const lost: LostPart[] = []
  const losses: Losses = {
    add(what, session) {
      lost.push(session === undefined ? { what } : { session, what })
    },
  }
  target.exec('BEGIN IMMEDIATE')
  migrate(target, 0)
  copyStore(source, target, losses)
  copySessions(source, target, losses)
  const entries = copyEntries(source, target, losses)
  const messages = copyMessages(source, target, losses)
  const blobs = copyBlobs(source, target, losses)
  const sessions = repairSessions(target, losses)
  target.exec('COMMIT')
  return { sessions, entries, messages, blobs, lost }
}

/** Gives every entry a session, and every session a log without gaps and its head. Returns the number of sessions. */
function repairSessions(target: DatabaseSync, losses: Losses): number {
  nameUnnamedSessions(target)
  const rows = target.prepare('SELECT key, id, head FROM sessions ORDER BY key').all()
  for (const { key, id, head } of rows)
    repairSession(target, losses, { key: Number(key), id: String(id), head: Number(head) })
  return rows.length
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
interface SessionClaim {
  readonly key: number
  readonly id: string
  readonly head: number
}

function repairSession(target: DatabaseSync, losses: Losses, { key, id, head }: SessionClaim): void {
  const name = decodeText(id)
  let seq = 0
  let lastAt = 0
  const rows = target
    .prepare('SELECT seq, at FROM entries WHERE place > ? AND place < ? ORDER BY place')
    .all(entryKey(key, 0), entryKeysEnd(key))
  for (const row of rows) {
    const nextSeq = Number(row.seq)
    if (nextSeq > seq + 1) {
      losses.add(rangeOf(seq + 1, nextSeq - 1), name)
      fillGap(target, { key, from: seq + 1, to: nextSeq - 1, at: lastAt })
    }
    seq = nextSeq
    lastAt = Number(row.at ?? lastAt)
  }
  if (head > seq) losses.add(rangeOf(seq + 1, head), name)
  target.prepare('UPDATE sessions SET head = ? WHERE key = ?').run(seq, key)
}

const rangeOf = (from: number, to: number): string => (from === to ? `entry ${from}` : `entries ${from} to ${to}`)

function fillGap(target: DatabaseSync, gap: { key: number; from: number; to: number; at: number }): void {
  const insert = target.prepare('INSERT INTO entries (place, at, sum, body) VALUES (?, ?, ?, ?)')
  for (let seq = gap.from; seq <= gap.to; seq++) {
    const body = JSON.stringify({ seq, id: `lost-${seq}`, at: gap.at, type: 'lost' })
    insert.run(entryKey(gap.key, seq), gap.at, checksumOf(body, gap.key), body)
  }
}
