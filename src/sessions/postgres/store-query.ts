import type { SessionStore } from '../../core/store.ts'
import type { Query } from './database.ts'

const queries = new WeakMap<SessionStore, Query>()

/** Remembers the function that runs a statement on the connections of a store. The function first makes the tables, if needed. */
export function rememberQuery<Store extends SessionStore>(store: Store, query: Query): Store {
  queries.set(store, query)
  return store
}

/**
 * The function that runs single statements on the connections of a Postgres store: one round trip, where a transaction takes
 * three. Undefined for other stores.
 */
export function queryOf(store: SessionStore): Query | undefined {
  return queries.get(store)
}
