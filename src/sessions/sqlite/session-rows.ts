import type { StoredSummary } from '../stored-summary.ts'
import { listIndexes } from './list-indexes.ts'
import { corruptError } from './problems.ts'
import type { SqlDatabase } from './statements.ts'
import { encodeText } from './stored-values.ts'

/** A session. Its texts are encoded by `encodeText`. */
export interface SessionRow {
  /** The integer primary key of the row. */
  readonly key: number
  readonly id: string
  readonly parent: string | null
  readonly head: number
  /** The `StoredSummary` as JSON, with its checksum. */
  readonly record: string | null
  readonly record_sum: number | null
  /** 1 while a message waits in the inbox of the session. */
  readonly has_mail: number
  /** For a fork only: the key of its base, how many of the base's first entries it shares, and a checksum of the two. */
  readonly base: number | null
  readonly base_head: number | null
  readonly base_sum: number | null
  /** The last lease that was taken. */
  readonly epoch: number
  readonly owner: string
  readonly since: number
  readonly expires: number
  readonly ttl: number
  /** The column `opener`: the key of the store instance that has the lease; null if the lease was released. */
  readonly leased_by: number | null
}

export const sessionColumns =
  'row.key, row.id, row.parent, row.head, row.record, row.record_sum, row.has_mail, row.base, row.base_head, row.base_sum, row.epoch, row.owner, row.since, row.expires, row.ttl, row.opener AS leased_by'

/** Finds the row by the index, and reads the id from the row itself: `find` compares the two ids and so notices a damaged index. */
const findSessionSql = `SELECT ${sessionColumns}
  FROM sessions AS indexed JOIN sessions AS row ON row.key = indexed.key WHERE indexed.id = ?`

/** What is cached about a session after an append, so that the next append need not read its row. */
export interface CachedSession {
  readonly key: number
  readonly summary: StoredSummary
}

/** The sessions of a database, found by their ids. */
export class SessionRows {
  readonly #database: SqlDatabase
  readonly #cached = new Map<string, CachedSession>()

  constructor(database: SqlDatabase) {
    this.#database = database
  }

  find(id: string): SessionRow | undefined {
    const text = encodeText(id)
    const row = this.#database.statement<SessionRow>(findSessionSql).get(text)
    if (row && row.id !== text)
      throw corruptError(this.#database.path, `the index of sessions leads from ${id} to another session`)
    if (!row) this.#checkMissing(text)
    return row
  }

  findOrCreate(id: string): SessionRow {
    const existing = this.find(id)
    if (existing) return existing
    this.#database.statement('INSERT INTO sessions (id) VALUES (?)').run(encodeText(id))
    const created = this.find(id)
    if (!created) throw corruptError(this.#database.path, `session ${id} was made and is not there`)
    return created
  }

  cached(id: string): CachedSession | undefined {
    return this.#cached.get(id)
  }

  /** Caches a session. The least recently used ones are forgotten. */
  remember(id: string, session: CachedSession): void {
    this.#cached.delete(id)
    this.#cached.set(id, session)
    if (this.#cached.size > maxCached) this.#cached.delete(this.#cached.keys().next().value!)
  }

  /** Called before a session is reported as missing: an id that is damaged in one index may be intact in another. */
  #checkMissing(text: string): void {
    for (const sql of [inRootsIndexSql, inNestedIndexSql])
      if (this.#database.statement(sql).get(text))
        throw corruptError(this.#database.path, 'the index of sessions does not fit its table')
  }
}

const maxCached = 5000

const [inRootsIndexSql, inNestedIndexSql] = (['roots', 'nested'] as const).map(
  (index) => `SELECT 1 FROM sessions INDEXED BY ${index}_id
    WHERE id = ? AND ${listIndexes[index].where('')} AND created IS NOT NULL`,
) as [string, string]
