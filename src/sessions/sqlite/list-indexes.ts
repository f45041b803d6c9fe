/** The orders of a list, with the columns of their indexes. */
const orderColumns = { updated: 'updated, id', created: 'created, id', id: 'id' } as const

/**
 * The partial indexes for lists: each has an index `<name>_<order>` for every order, of the sessions that fulfil `where`. A
 * query has to repeat that condition, with the alias of the table, such as `listed.`, before its columns. Sessions without
 * entries are in no index.
 */
export const listIndexes = {
  roots: { leadingColumns: [], where: (alias: string) => `${alias}parent IS NULL` },
  nested: { leadingColumns: [], where: (alias: string) => `${alias}parent IS NOT NULL` },
  parent: { leadingColumns: ['parent'], where: (alias: string) => `${alias}parent IS NOT NULL` },
  status: { leadingColumns: ['status'], where: (alias: string) => `${alias}status <> 'idle'` },
  attention: { leadingColumns: [], where: (alias: string) => `${alias}needs_attention + ${alias}has_mail > 0` },
  tenant: { leadingColumns: ['tenant'], where: (alias: string) => `${alias}tenant IS NOT NULL` },
  kind: { leadingColumns: ['kind'], where: (alias: string) => `${alias}kind IS NOT NULL` },
  folder: { leadingColumns: ['folder'], where: (alias: string) => `${alias}folder IS NOT NULL` },
} as const
export type ListIndex = keyof typeof listIndexes

/**
 * The statements that create the indexes. They leave out sessions that are in no list by `created IS NOT NULL`. (Not by
 * `updated`: whenever a column in the condition of an index changes, SQLite writes that index.)
 */
export function createListIndexes(): string {
  const statements: string[] = []
  for (const [order, columns] of Object.entries(orderColumns)) {
    for (const [name, { leadingColumns, where }] of Object.entries(listIndexes)) {
      // Most sessions are idle. A query for them scans all sessions and reads the status from the index.
      const trailing = name === 'roots' || name === 'nested' ? ['status'] : []
      const all = [...leadingColumns, columns, ...trailing].join(', ')
      statements.push(`CREATE INDEX ${name}_${order} ON sessions (${all}) WHERE ${where('')} AND created IS NOT NULL`)
    }
    statements.push(`CREATE INDEX tags_${order} ON tags (tag, ${columns})`)
  }
  return statements.join('; ')
}
