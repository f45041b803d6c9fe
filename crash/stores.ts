import { join } from 'node:path'
import type { SessionStore } from '../src/core/store.ts'

export type StoreKind = 'sqlite' | 'jsonl'

export const storeKinds: readonly StoreKind[] = ['sqlite', 'jsonl']

export const sessionId = 'trial'

/** Loads only the requested store, because a worker must start quickly. */
export async function openStore(kind: StoreKind, folder: string): Promise<SessionStore> {
  if (kind === 'sqlite') {
    const { createSqliteStore } = await import('../src/sessions/sqlite-store.ts')
    return createSqliteStore({ path: join(folder, 'store.db') })
  }
  const { createJsonlStore } = await import('../src/sessions/jsonl-store.ts')
  return createJsonlStore({ dir: join(folder, 'store') })
}
