import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'

/** A database whose statements are compiled once. */
export interface SqlDatabase {
  /** The path of the file, for errors. */
  readonly path: string
  /** A statement, compiled by its first use. The caller names the columns that its SQL selects. */
  statement<Row = AnyRow>(sql: string): TypedStatement<Row>
}

/** A row of which only the names of columns are known. */
export type AnyRow = Record<string, SQLOutputValue>

/** A statement with the type of its rows. */
export interface TypedStatement<Row> extends Pick<StatementSync, 'run'> {
  get(...values: SQLInputValue[]): Row | undefined
  all(...values: SQLInputValue[]): Row[]
}

export class CachedStatements implements SqlDatabase {
  readonly path: string
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(database: DatabaseSync, path: string) {
    this.#database = database
    this.path = path
  }

  statement<Row = AnyRow>(sql: string): TypedStatement<Row>
  statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  clear(): void {
    this.#statements.clear()
  }
}
