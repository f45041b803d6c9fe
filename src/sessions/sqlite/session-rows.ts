import type { Fence } from '../../core/store.ts'
import type { Connection } from './connection.ts'
import { textOfKey } from './keys.ts'
import { corruptError } from './problems.ts'

/** What every write needs to know of a session. */
export interface SessionRow {
  readonly key: number
  readonly id: string
  readonly head: number
  readonly epoch: number
}

/** Who may write a session, and for how long. */
export interface LeaseRow {
  readonly owner: string
  readonly since: number
  readonly expires: number
  readonly ttl: number
  readonly process: string | null
}

/** Through the index to the row, and not by what the index says of it: so that a damaged index is noticed. */
const byId = `SELECT row.key, row.id, row.head, row.epoch
  FROM sessions AS found JOIN sessions AS row ON row.key = found.key WHERE found.id = ?`

/** The sessions of a database, found by their ids. */
export class SessionRows {
  readonly #connection: Connection
  /** Of the sessions that were found last, so that an append need not look them up. */
  readonly #keys = new Map<string, number>()
  #isIndexSound = false

  constructor(connection: Connection) {
    this.#connection = connection
  }

  find(id: string): SessionRow | undefined {
    const text = textOfKey(id)
    const row = this.#connection.statement(byId).get(text) as SessionRow | undefined
    if (row && row.id !== text) throw corruptError(this.#connection.path, `session ${id} has another name`)
    if (row) this.#remember(id, row.key)
    else this.#checkIndex()
    return row
  }

  /** Moves the head of a session on, if all is as the fence says, in one step. Gives its key, or undefined: look closer. */
  advance(id: string, { epoch, head, holder = id, parent }: Fence, by: number): number | undefined {
    const key = this.#keys.get(id)
    if (key === undefined || epoch === 0 || holder !== id || parent !== undefined) return undefined
    // No two leases have the same epoch, so the key cannot have become that of another session.
    const { changes } = this.#connection.statement(move).run(head + by, key, epoch, head)
    return changes === 1 ? key : undefined
  }

  findOrCreate(id: string): SessionRow {
    const found = this.find(id)
    if (found) return found
    this.#connection.statement('INSERT INTO sessions (id) VALUES (?)').run(textOfKey(id))
    const made = this.find(id)
    if (!made) throw corruptError(this.#connection.path, `session ${id} was made and is not there`)
    return made
  }

  #remember(id: string, key: number): void {
    if (this.#keys.size >= mostRemembered) this.#keys.clear()
    this.#keys.set(id, key)
  }

  leaseOf({ key }: SessionRow): LeaseRow {
    const select = 'SELECT owner, since, expires, ttl, process FROM sessions WHERE key = ?'
    return this.#connection.statement(select).get(key) as unknown as LeaseRow
  }

  /** That a session is not there is believed only of an index that agrees with its table. Looked at once. */
  #checkIndex(): void {
    if (this.#isIndexSound) return
    const { inTable, inIndex, astray } = this.#connection.statement(compareIndex).get() ?? {}
    if (inTable !== inIndex || astray !== 0)
      throw corruptError(this.#connection.path, 'the index of sessions does not fit its table')
    this.#isIndexSound = true
  }
}

const move = 'UPDATE sessions SET head = ? WHERE key = ? AND epoch = ? AND head = ?'
const mostRemembered = 1000

const compareIndex = `SELECT
  (SELECT count(key) FROM sessions NOT INDEXED) AS inTable,
  (SELECT count(*) FROM sessions INDEXED BY sqlite_autoindex_sessions_1 WHERE id >= '') AS inIndex,
  (SELECT count(*) FROM sessions AS a NOT INDEXED
    LEFT JOIN sessions AS b INDEXED BY sqlite_autoindex_sessions_1 ON b.id = a.id WHERE b.key IS NOT a.key) AS astray`
