import { show } from '../core/behavior.ts'
import { didYouMean } from '../core/nearest.ts'
import type { Session, SessionDetails, SessionStore, SessionSummary } from '../core/store.ts'
import type { SessionOptions } from './leased-log.ts'
import { createMemoryStore } from './stores.ts'

/** Creates a session. Without a store it is kept in memory. */
export async function createSession({
  store = createMemoryStore(),
  id = crypto.randomUUID(),
  ...options
}: SessionOptions & SessionDetails & { store?: SessionStore; id?: string } = {}): Promise<Session> {
  checkStore('createSession', store)
  checkSession('createSession', id, options)
  const { makeSession } = await import('./stored-session.ts')
  return makeSession(store, id, options)
}

/** Loads an existing session. Rejects with SessionNotFoundError if there is none. */
export async function loadSession(store: SessionStore, id: string, options: SessionOptions = {}): Promise<Session> {
  checkStore('loadSession', store)
  checkSession('loadSession', id, options)
  const { readSession } = await import('./stored-session.ts')
  return readSession(store, id, options)
}

/** Loads a session whose summary the caller has just read, so that the store is not asked for it again. */
export async function loadFound(
  store: SessionStore,
  summary: SessionSummary,
  options: SessionOptions,
): Promise<Session> {
  const { readSession } = await import('./stored-session.ts')
  return readSession(store, summary.id, options, summary)
}

/** Loads a session, or creates it with these details if there is none. */
export async function openSession(
  store: SessionStore,
  id: string,
  options: SessionOptions & SessionDetails = {},
): Promise<Session> {
  checkStore('openSession', store)
  checkSession('openSession', id, options)
  const { openStored } = await import('./stored-session.ts')
  return openStored(store, id, options)
}

const optionChecks: Record<keyof SessionOptions, readonly [check: (value: unknown) => boolean, accepted: string]> = {
  clock: [(value) => typeof value === 'object', 'an object with now and timer'],
  newId: [(value) => typeof value === 'function', 'a function that returns a new id'],
  owner: [(value) => typeof value === 'string' && value !== '', 'a text of at least one character'],
  leaseMs: [
    (value) => typeof value === 'number' && value > 0 && value <= 86_400_000,
    'a number of milliseconds, more than 0 and at most 86400000 (a day)',
  ],
  takeOver: [(value) => typeof value === 'boolean', 'true or false'],
}

const detailNames: readonly (keyof SessionDetails)[] = ['title', 'tags', 'tenant', 'kind', 'folder']

function checkStore(maker: string, store: SessionStore): void {
  if (typeof store?.append !== 'function' || typeof store.read !== 'function')
    throw new TypeError(`${maker} needs a SessionStore such as createSqliteStore({ path }), got ${show(store)}`)
}

function checkSession(maker: string, id: unknown, options: SessionOptions & SessionDetails): void {
  if (typeof id !== 'string' || id === '')
    throw new TypeError(`${maker} needs an id that is a text of at least one character, got ${show(id)}`)
  const details: readonly string[] = maker === 'loadSession' ? [] : detailNames
  for (const [name, value] of Object.entries(options)) {
    if (details.includes(name)) continue
    if (!Object.hasOwn(optionChecks, name))
      throw new TypeError(
        `${maker} has no option "${name}"${didYouMean(name, [...Object.keys(optionChecks), ...details])}`,
      )
    const [check, accepted] = optionChecks[name as keyof SessionOptions]
    if (value !== undefined && !check(value))
      throw new TypeError(`${maker} option "${name}" cannot be ${show(value)}; it takes ${accepted}`)
  }
}
