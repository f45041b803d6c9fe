import { show } from '../core/behavior.ts'
import type { Session, SessionStore } from '../core/store.ts'
import { createMemoryStore } from './memory-store.ts'
import type { SessionOptions } from './stored-session.ts'

/** A new session. Without a store it lives as long as the process. */
export async function createSession({
  store = createMemoryStore(),
  id = crypto.randomUUID(),
  ...options
}: SessionOptions & { store?: SessionStore; id?: string } = {}): Promise<Session> {
  if (typeof store?.append !== 'function' || typeof store.read !== 'function')
    throw new TypeError(`createSession needs a SessionStore such as createMemoryStore(), got ${show(store)}`)
  const { makeSession } = await import('./stored-session.ts')
  return makeSession(store, id, options)
}

/** A session that was begun before, with all its turns and runs. */
export async function loadSession(store: SessionStore, id: string, options: SessionOptions = {}): Promise<Session> {
  const { readSession } = await import('./stored-session.ts')
  return readSession(store, id, options)
}
