import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** A database whose statements are compiled once. */
export interface Statements {
  /** The path of the file, for errors. */
  readonly path: string
  /** A statement, compiled by its first use. */
  statement(sql: string): StatementSync
}

export class CachedStatements implements Statements {
  readonly path: string
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(database: DatabaseSync, path: string) {
    this.#database = database
    this.path = path
  }

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
