/** The orders of a list, with the columns of their indexes. */
const orderColumns = { updated: 'updated, id', created: 'created, id', id: 'id' } as const

/**
 * The indexes for lists: each has an index `<name>_<order>` for every order, of the sessions that fulfil the condition. A
 * query has to repeat that condition, with `at` before its columns. Sessions without entries are in none of them.
 */
export const listIndexes = {
  roots: { first: [], when: (at: string) => `${at}parent IS NULL` },
  nested: { first: [], when: (at: string) => `${at}parent IS NOT NULL` },
  parent: { first: ['parent'], when: (at: string) => `${at}parent IS NOT NULL` },
  status: { first: ['status'], when: (at: string) => `${at}status <> 'idle'` },
  attention: { first: [], when: (at: string) => `${at}needs_attention + ${at}has_mail > 0` },
  tenant: { first: ['tenant'], when: (at: string) => `${at}tenant IS NOT NULL` },
  kind: { first: ['kind'], when: (at: string) => `${at}kind IS NOT NULL` },
  folder: { first: ['folder'], when: (at: string) => `${at}folder IS NOT NULL` },
} as const
export type ListIndex = keyof typeof listIndexes

/**
 * The statements that create them. `created` is NULL in a session that is in no list. (Not `updated`: SQLite writes an index
 * with each change of a column in its condition.)
 */
export function createListIndexes(): string {
  const statements: string[] = []
  for (const [order, columns] of Object.entries(orderColumns)) {
    for (const [name, { first, when }] of Object.entries(listIndexes)) {
      // Most sessions are idle: they are found among all, by a status that is read from the index.
      const last = name === 'roots' || name === 'nested' ? ['status'] : []
      const all = [...first, columns, ...last].join(', ')
      statements.push(`CREATE INDEX ${name}_${order} ON sessions (${all}) WHERE ${when('')} AND created IS NOT NULL`)
    }
    statements.push(`CREATE INDEX tags_${order} ON tags (tag, ${columns})`)
  }
  return statements.join('; ')
}
