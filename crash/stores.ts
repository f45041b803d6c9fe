import { join } from 'node:path'
import { systemClock } from '../src/core/clock.ts'
import type { SessionStore } from '../src/core/store.ts'

export type StoreKind = 'sqlite' | 'jsonl'

export const storeKinds: readonly StoreKind[] = ['sqlite', 'jsonl']

export const sessionId = 'trial'

/** `skewMs` is the offset of its clock. Loads only the requested store, because a worker must start quickly. */
export async function openStore(kind: StoreKind, folder: string, skewMs = 0): Promise<SessionStore> {
  const clock = { ...systemClock, now: () => Date.now() + skewMs }
  if (kind === 'sqlite') {
    const { createSqliteStore } = await import('../src/sessions/sqlite-store.ts')
    return createSqliteStore({ path: join(folder, 'store.db'), clock })
  }
  const { createJsonlStore } = await import('../src/sessions/jsonl-store.ts')
  return createJsonlStore({ dir: join(folder, 'store'), clock })
}
