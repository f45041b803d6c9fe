import type { SessionStore } from '../../core/store.ts'
import type { Query } from './database.ts'

const queries = new WeakMap<SessionStore, Query>()

/** Remembers how to run a statement on the connections of a store, after its tables were made. */
export function rememberQuery<Store extends SessionStore>(store: Store, query: Query): Store {
  queries.set(store, query)
  return store
}

/** Runs single statements on the connections of a Postgres store, where a transaction would be three. Undefined for other stores. */
export function queryOf(store: SessionStore): Query | undefined {
  return queries.get(store)
}
