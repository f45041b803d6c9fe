import { join } from 'node:path'
import type { SessionStore } from '../../src/core/store.ts'
import { createJsonlStore, createSqliteStore } from '../../src/index.ts'

/** Names a store for another process. */
export type StoreSpec =
  | { readonly kind: 'SQLite' | 'JSONL'; readonly folder: string }
  | { readonly kind: 'Postgres'; readonly url: string; readonly schema: string }
  | { readonly kind: 'remote'; readonly url: string; readonly token: string }

export async function openStore(spec: StoreSpec): Promise<SessionStore> {
  switch (spec.kind) {
    case 'SQLite':
      return createSqliteStore({ path: join(spec.folder, 'sessions.db') })
    case 'JSONL':
      return createJsonlStore({ dir: join(spec.folder, 'sessions') })
    case 'Postgres':
      return (await import('../../src/sessions/postgres-store.ts')).createPostgresStore(spec)
    case 'remote':
      return (await import('../../src/sessions/remote-store.ts')).createRemoteStore(spec)
  }
}
