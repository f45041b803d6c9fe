import { StoreError } from '../../core/errors.ts'
import type { Database, Query, Row } from './database.ts'
import { isMissingTable } from './failure.ts'
import { format, quoted, setUp } from './schema.ts'

/** The tables of a store, made or brought up to date before they are first used. */
export interface Place {
  read(statement: string, values?: readonly unknown[]): Promise<readonly Row[]>
  /** Refused where a newer version of Libero made the tables. */
  write(statement: string, values?: readonly unknown[]): Promise<readonly Row[]>
}

export function createPlace(database: Database, name: string): Place {
  const meta = `${quoted(name)}.meta`
  let found: Promise<number> | undefined

  function ready(): Promise<number> {
    if (!found) {
      const mine = database.persist(prepare)
      found = mine
      mine.catch(() => {
        if (found === mine) found = undefined
      })
    }
    return found
  }

  async function prepare(query: Query): Promise<number> {
    const before = await formatOf(query)
    if (before !== undefined && before >= format) return before
    await query(setUp(name))
    return (await formatOf(query)) ?? 0
  }

  async function formatOf(query: Query): Promise<number | undefined> {
    try {
      const [row] = await query(`select value from ${meta} where key = 'format'`)
      return Number(row?.value ?? 0)
    } catch (error) {
      if (isMissingTable(error)) return undefined
      throw error
    }
  }

  return {
    async read(statement, values) {
      await ready()
      return database.query(statement, values)
    },
    async write(statement, values) {
      const version = await ready()
      if (version > format)
        throw new StoreError(
          'newer',
          `The schema "${name}" was written by a newer version of Libero (format ${version}, this one knows ${format}); it can be read, but to write it update Libero`,
        )
      return database.query(statement, values)
    },
  }
}
