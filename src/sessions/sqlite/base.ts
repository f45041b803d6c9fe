import { corruptError } from './problems.ts'
import { type SessionRow, sessionColumns } from './session-rows.ts'
import type { SqlDatabase } from './statements.ts'
import { checksumOf, decodeText } from './stored-values.ts'

/**
 * The session from which another was forked. Its first `sharedCount` entries are also the first ones of the fork, whose row has this
 * number as `base_head`.
 */
export interface Base {
  readonly row: SessionRow
  readonly sharedCount: number
}

/** The session from which another one was forked. If it was deleted, its shared entries are kept for its forks. */
export function baseOf(database: SqlDatabase, fork: SessionRow): Base | undefined {
  if (fork.base === null || fork.base_head === null) return undefined
  const row = database.statement<SessionRow>(sessionByKeySql).get(fork.base)
  const isIntact = fork.base_sum === baseSum(fork.key, fork.base, fork.base_head)
  if (!isIntact || !row || row.head < fork.base_head)
    throw corruptError(database.path, `the session that ${decodeText(fork.id)} was forked from is not there`)
  return { row, sharedCount: fork.base_head }
}

const sessionByKeySql = `SELECT ${sessionColumns} FROM sessions AS row WHERE row.key = ?`

/** The checksum of the base of a fork. Without it, a changed bit would give the fork the entries of another session. */
export const baseSum = (fork: number, base: number, sharedCount: number): number =>
  checksumOf(`${base} ${sharedCount}`, fork)

/** Shares the first entries of a base with a fork that has no entries yet. Requires a transaction. */
export function shareEntries(database: SqlDatabase, fork: SessionRow, { row, sharedCount }: Base): void {
  database.statement(shareSql).run(row.key, sharedCount, baseSum(fork.key, row.key, sharedCount), fork.key)
}

const shareSql = 'UPDATE sessions SET base = ?, base_head = ?, base_sum = ? WHERE key = ?'
