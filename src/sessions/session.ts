import { show } from '../core/behavior.ts'
import { didYouMean } from '../core/nearest.ts'
import type { Session, SessionStore } from '../core/store.ts'
import type { SessionOptions } from './leased-log.ts'
import { createMemoryStore } from './memory-store.ts'

/** Creates a session. Without a store it is kept in memory. */
export async function createSession({
  store = createMemoryStore(),
  id = crypto.randomUUID(),
  ...options
}: SessionOptions & { store?: SessionStore; id?: string } = {}): Promise<Session> {
  if (typeof store?.append !== 'function' || typeof store.read !== 'function')
    throw new TypeError(`createSession needs a SessionStore such as createMemoryStore(), got ${show(store)}`)
  checkSession('createSession', id, options)
  const { makeSession } = await import('./stored-session.ts')
  return makeSession(store, id, options)
}

/** Loads an existing session with all its turns and runs. */
export async function loadSession(store: SessionStore, id: string, options: SessionOptions = {}): Promise<Session> {
  if (typeof store?.read !== 'function')
    throw new TypeError(`loadSession needs a SessionStore such as createSqliteStore({ path }), got ${show(store)}`)
  checkSession('loadSession', id, options)
  const { readSession } = await import('./stored-session.ts')
  return readSession(store, id, options)
}

const optionChecks: Record<keyof SessionOptions, (value: unknown) => boolean> = {
  clock: (value) => typeof value === 'object',
  newId: (value) => typeof value === 'function',
  owner: (value) => typeof value === 'string' && value !== '',
  leaseMs: (value) => typeof value === 'number' && value > 0 && value <= 86_400_000,
  takeOver: (value) => typeof value === 'boolean',
}

function checkSession(maker: string, id: unknown, options: SessionOptions): void {
  if (typeof id !== 'string' || id === '')
    throw new TypeError(`${maker} needs an id that is a text of at least one character, got ${show(id)}`)
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(optionChecks, name))
      throw new TypeError(`${maker} has no option "${name}"${didYouMean(name, Object.keys(optionChecks))}`)
    if (value !== undefined && !optionChecks[name as keyof SessionOptions](value))
      throw new TypeError(`${maker} option "${name}" cannot be ${show(value)}`)
  }
}
