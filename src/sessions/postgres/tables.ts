import { StoreError } from '../../core/errors.ts'
import type { Database, Query, Statements } from './database.ts'
import { isMissingTable } from './failure.ts'
import { migrateFormat1 } from './migrate.ts'
import { creation, lockOf, quoted } from './schema.ts'

/** The version of the tables and their content. */
const format = 2

/** The tables of a store, created or upgraded before first use. */
export interface PostgresTables {
  /** The quoted name of the schema. */
  readonly schema: string
  readonly read: Query
  /** Refused if a newer version of Libero created the tables. */
  readonly write: Query
  /** Rejects if the tables may not be written. */
  checkWritable(): Promise<void>
}

export function createTables(database: Database, name: string): PostgresTables {
  const schema = quoted(name)
  let storedFormat: Promise<number> | undefined

  function ready(): Promise<number> {
    if (!storedFormat) {
      const thisAttempt = database.retry(prepare)
      storedFormat = thisAttempt
      thisAttempt.catch(() => {
        if (storedFormat === thisAttempt) storedFormat = undefined
      })
    }
    return storedFormat
  }

  async function prepare({ query, transaction }: Statements): Promise<number> {
    const before = await formatOf(query)
    if (before === 0) await query(creation(name))
    else if (before < format) await transaction(migrate)
    else return before
    return formatOf(query)
  }

  /** Of several processes that try this at once, one migrates; the others wait for the lock and then find the new format. */
  async function migrate(query: Query): Promise<void> {
    await query(`select ${lockOf(name)}`)
    if ((await formatOf(query)) < format) await migrateFormat1(query, schema)
  }

  async function formatOf(query: Query): Promise<number> {
    try {
      const [row] = await query(`select value from ${schema}.meta where key = 'format'`)
      return Number(row?.value ?? 0)
    } catch (error) {
      if (isMissingTable(error)) return 0
      throw error
    }
  }

  async function checkWritable(): Promise<void> {
    const version = await ready()
    if (version > format)
      throw new StoreError(
        'newer',
        `The schema "${name}" was written by a newer version of Libero (format ${version}, this one knows ${format}); it can be read, but to write it update Libero`,
      )
  }

  return {
    schema,
    async read(...statement) {
      await ready()
      return database.query(...statement)
    },
    async write(...statement) {
      await checkWritable()
      return database.query(...statement)
    },
    checkWritable,
  }
}
