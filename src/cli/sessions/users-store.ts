import type { SessionStore } from '../../core/store.ts'
import { UsageError } from '../cli-error.ts'
import { loadConfig } from '../config/config.ts'
import type { Io } from '../io.ts'
import { openStore, sessionsPath } from './open-store.ts'

/** Opens the user's store for the time of some work. */
export async function withStore<T>(
  io: Pick<Io, 'home' | 'userHome'>,
  work: (store: SessionStore) => Promise<T>,
): Promise<T> {
  const { config } = await loadConfig({ home: io.home })
  const store = await openStore(sessionsPath(config, io))
  try {
    return await work(store)
  } finally {
    await store.close?.()
  }
}

/** The id that a command needs as its first word. */
export function requireId(words: readonly string[], command: string): string {
  const [id] = words
  if (id === undefined || id === '')
    throw new UsageError(`sessions ${command} needs the id of a session; libero sessions lists them`)
  return id
}
