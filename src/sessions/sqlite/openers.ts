import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { type ProcessIdentity, processState, thisProcess } from '../../platform/process-identity.ts'
import type { Connection } from './connection.ts'

/** 243 MB took 0.2 s from memory; a cold or slow disk takes longer. Larger files are not checked as a whole. */
export const largestChecked = 256 * 1024 * 1024

/**
 * Who has the database open for writing is written into it. A process that is still there although it is dead did not
 * stop cleanly. One in another container may be alive, but nobody can know: it counts as gone, and loses nothing by it.
 */
export function goneOpeners(database: DatabaseSync): string[] {
  const rows = database.prepare('SELECT id, process FROM openers').all()
  return rows.flatMap(({ id, process }) => (isHere(process) ? [] : [String(id)]))
}

/** What is wrong with the file, in SQLite's words. Nothing for a sound one, and for one too large to look through. */
export function findDamage(database: DatabaseSync, path: string): string | undefined {
  if (statSync(path).size > largestChecked) return undefined
  const found = database.prepare('PRAGMA quick_check(1)').get()?.quick_check
  return found === 'ok' ? undefined : String(found)
}

/** Writes us down, and strikes out those who are gone. Inside a transaction. */
export function enter(connection: Connection, id: string, gone: readonly string[]): void {
  for (const one of gone) leave(connection, one)
  connection.statement('INSERT OR REPLACE INTO openers VALUES (?, ?)').run(id, JSON.stringify(thisProcess()))
}

/** Strikes somebody out. Inside a transaction. */
export function leave(connection: Connection, id: string): void {
  connection.statement('DELETE FROM openers WHERE id = ?').run(id)
}

/** A process as it is written into the database. Undefined for what is none. */
export function processOf(text: unknown): ProcessIdentity | undefined {
  if (typeof text !== 'string') return undefined
  try {
    const value = JSON.parse(text) as ProcessIdentity | null
    return typeof value?.pid === 'number' ? value : undefined
  } catch {
    return undefined
  }
}

function isHere(text: unknown): boolean {
  const process = processOf(text)
  return process !== undefined && processState(process) === 'alive'
}
