import { corruptError } from './problems.ts'
import { type SessionRow, sessionColumns } from './session-rows.ts'
import type { Statements } from './statements.ts'
import { checksumOf, decodeText } from './stored-values.ts'

/** A session that shares its first entries with a fork. */
export interface Base {
  readonly row: SessionRow
  /** How many entries the fork shares. */
  readonly head: number
}

/** The session that a session was forked from. It may have been deleted; then it is kept for its forks. */
export function baseOf(database: Statements, fork: SessionRow): Base | undefined {
  if (fork.base === null || fork.base_head === null) return undefined
  const row = database.statement<SessionRow>(sessionByKeySql).get(fork.base)
  const isIntact = fork.base_sum === baseSum(fork.key, fork.base, fork.base_head)
  if (!isIntact || !row || row.head < fork.base_head)
    throw corruptError(database.path, `the session that ${decodeText(fork.id)} was forked from is not there`)
  return { row, head: fork.base_head }
}

const sessionByKeySql = `SELECT ${sessionColumns} FROM sessions AS row WHERE row.key = ?`

/** The checksum of the base of a fork. Without it, a changed bit would give the fork the entries of another session. */
export const baseSum = (fork: number, base: number, head: number): number => checksumOf(`${base} ${head}`, fork)

/** Shares the first entries of a base with a fork that has no entries yet. Requires a transaction. */
export function shareEntries(database: Statements, fork: SessionRow, { row, head }: Base): void {
  database.statement(shareSql).run(row.key, head, baseSum(fork.key, row.key, head), fork.key)
}

const shareSql = 'UPDATE sessions SET base = ?, base_head = ?, base_sum = ? WHERE key = ?'
