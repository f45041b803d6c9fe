import type { Fence } from '../../core/store.ts'
import type { Connection } from './connection.ts'
import { corruptError } from './problems.ts'
import { decodeText, encodeText } from './stored-values.ts'

/** The columns of a session that every write needs. */
export interface SessionRow {
  /** The integer primary key of the row. */
  readonly key: number
  /** The id of the session, encoded by `encodeText`. */
  readonly id: string
  readonly head: number
  readonly epoch: number
}

/** The lease columns of a session. */
export interface LeaseRow {
  /** Encoded by `encodeText`. */
  readonly owner: string
  readonly since: number
  readonly expires: number
  readonly ttl: number
  readonly process: string | null
}

/** Reads the row itself, not only the index, so that a damaged index is noticed. */
const findSessionSql = `SELECT row.key, row.id, row.head, row.epoch
  FROM sessions AS found JOIN sessions AS row ON row.key = found.key WHERE found.id = ?`

/** The sessions of a database, found by their ids. */
export class SessionRows {
  readonly #connection: Connection
  /** Keys of recently found sessions, to save lookups. */
  readonly #keys = new Map<string, number>()
  #isIndexSound = false

  constructor(connection: Connection) {
    this.#connection = connection
  }

  find(id: string): SessionRow | undefined {
    const text = encodeText(id)
    const row = this.#connection.statement(findSessionSql).get(text) as SessionRow | undefined
    if (row && row.id !== text) throw corruptError(this.#connection.path, `session ${id} has another name`)
    if (row) this.#remember(id, row.key)
    else this.#checkIndex()
    return row
  }

  /**
   * Advances the head in one statement. Returns the key. Undefined if the fence does not match, or this fast path does not
   * apply (unknown key, other holder, new parent); then `advanceHead` decides.
   */
  advance(id: string, { epoch, head, holder = id, parent }: Fence, by: number): number | undefined {
    const key = this.#keys.get(id)
    if (key === undefined || epoch === 0 || holder !== id || parent !== undefined) return undefined
    // No two leases have the same epoch, so the key cannot have become that of another session.
    const { changes } = this.#connection.statement(advanceHeadSql).run(head + by, key, epoch, head)
    return changes === 1 ? key : undefined
  }

  findOrCreate(id: string): SessionRow {
    const existing = this.find(id)
    if (existing) return existing
    this.#connection.statement('INSERT INTO sessions (id) VALUES (?)').run(encodeText(id))
    const created = this.find(id)
    if (!created) throw corruptError(this.#connection.path, `session ${id} was made and is not there`)
    return created
  }

  #remember(id: string, key: number): void {
    if (this.#keys.size >= maxRememberedKeys) this.#keys.clear()
    this.#keys.set(id, key)
  }

  leaseOf({ key }: SessionRow): LeaseRow {
    const select = 'SELECT owner, since, expires, ttl, process FROM sessions WHERE key = ?'
    return this.#connection.statement(select).get(key) as unknown as LeaseRow
  }

  /** Before a session is reported as missing: checks, once, that the index matches the table. */
  #checkIndex(): void {
    if (this.#isIndexSound) return
    const { inTable, inIndex, astray } = this.#connection.statement(compareIndexSql).get() ?? {}
    if (inTable !== inIndex || astray !== 0)
      throw corruptError(this.#connection.path, 'the index of sessions does not fit its table')
    this.#isIndexSound = true
  }
}

const advanceHeadSql = 'UPDATE sessions SET head = ? WHERE key = ? AND epoch = ? AND head = ?'
const maxRememberedKeys = 1000

const compareIndexSql = `SELECT
  (SELECT count(key) FROM sessions NOT INDEXED) AS inTable,
  (SELECT count(*) FROM sessions INDEXED BY sqlite_autoindex_sessions_1 WHERE id >= '') AS inIndex,
  (SELECT count(*) FROM sessions AS a NOT INDEXED
    LEFT JOIN sessions AS b INDEXED BY sqlite_autoindex_sessions_1 ON b.id = a.id WHERE b.key IS NOT a.key) AS astray`

/** Every session, oldest first. */
export function listSessions(connection: Connection): { id: string; parent?: string }[] {
  return connection
    .statement(listSessionsSql)
    .all()
    .map(({ id, parent }) => ({
      id: decodeText(String(id)),
      ...(typeof parent === 'string' && { parent: decodeText(parent) }),
    }))
}

const listSessionsSql = 'SELECT id, parent FROM sessions NOT INDEXED ORDER BY key'

/** Deletes a session with its descendants and all their data. Returns their ids. Requires a transaction. */
export function deleteTree(connection: Connection, id: string): string[] {
  const ids = connection
    .statement(familySql)
    .all(encodeText(id))
    .map(({ member }) => String(member))
  for (const member of ids) {
    connection.statement('DELETE FROM blobs WHERE session = ?').run(member)
    connection.statement(deleteEntriesSql).run(member)
    connection.statement('DELETE FROM sessions WHERE id = ?').run(member)
  }
  return ids.map(decodeText)
}

const deleteEntriesSql = `DELETE FROM entries WHERE place > (SELECT key << 26 FROM sessions WHERE id = ?1)
  AND place < (SELECT (key + 1) << 26 FROM sessions WHERE id = ?1)`

const familySql = `WITH RECURSIVE family(member) AS (
    SELECT ?1 UNION SELECT sessions.id FROM sessions JOIN family ON sessions.parent = family.member
  ) SELECT member FROM family`
