import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { messageOf } from '../../core/errors.ts'

export type Row = Record<string, SQLOutputValue>

/** After so many rows in a row that are not there or not readable, nothing more is expected. */
export const patience = 10_000

/**
 * Every row of a damaged table that can be reached: from its beginning, from its end, and one by one in between. Some
 * may come twice. Returns what SQLite said where it got stuck, or undefined for a table that it could read.
 */
export function* salvage(database: DatabaseSync, table: string, columns: string): Generator<Row, string | undefined> {
  const select = `SELECT rowid AS salvaged, ${columns} FROM ${table} NOT INDEXED`
  const forward = yield* scan(database, `${select} ORDER BY rowid`)
  if (forward.problem === undefined) return undefined
  const backward = yield* scan(database, `${select} ORDER BY rowid DESC`)
  const end = backward.last ?? Number.MAX_SAFE_INTEGER
  let misses = 0
  for (let rowid = (forward.last ?? 0) + 1; rowid < end && misses < patience; rowid++) {
    const { last } = yield* scan(database, `${select} WHERE rowid = ?`, rowid)
    misses = last === undefined ? misses + 1 : 0
  }
  return forward.problem
}

interface Scanned {
  /** The rowid of the last row that came. */
  readonly last?: number
  readonly problem?: string
}

/** Rows until the end or the first that cannot be read. */
export function* scan(database: DatabaseSync, sql: string, ...values: number[]): Generator<Row, Scanned> {
  let last: number | undefined
  try {
    for (const row of database.prepare(sql).iterate(...values)) {
      if (typeof row.salvaged === 'number') last = row.salvaged
      yield row
    }
    return last === undefined ? {} : { last }
  } catch (error) {
    return { ...(last !== undefined && { last }), problem: messageOf(error) }
  }
}
