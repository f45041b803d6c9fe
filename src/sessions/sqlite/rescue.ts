import { lstatSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { StoreError } from '../../core/errors.ts'
import { makeNewFile } from './backup.ts'
import { loadSqlite } from './load-sqlite.ts'
import { problemOf } from './problems.ts'
import { settleSessions } from './rescue-sessions.ts'
import { copyBlobs, copyEntries, copyMessages, copySessions, copyStore, type Losses } from './rescue-tables.ts'
import { migrate } from './schema.ts'

/** Something that was in a damaged store and is not in its copy. */
export interface LostPart {
  /** Absent where it is not known whose it was. */
  readonly session?: string
  readonly what: string
}

/** What a rescue brought over, and what it could not. */
export interface RescueReport {
  readonly sessions: number
  readonly entries: number
  /** Messages that still waited to be delivered. */
  readonly messages: number
  readonly blobs: number
  readonly lost: readonly LostPart[]
}

/**
 * Copies everything readable of a damaged store into a new one, `to`; `from` is only read. An entry that was lost
 * between others is replaced by one of type `lost`, so that all keep their numbers. Whoever was writing must take the
 * lease anew. A session whose name is unreadable is called `rescued-<number>`.
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
    source.prepare('SELECT count(*) FROM sqlite_schema').get() // fails here where nothing at all can be read
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
  const sessions = settleSessions(target, losses)
  target.exec('COMMIT')
  return { sessions, entries, messages, blobs, lost }
}
