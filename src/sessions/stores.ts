import { show } from '../core/behavior.ts'
import type { Clock } from '../core/clock.ts'
import type { SessionStore } from '../core/store.ts'
import type { FileMapAdapter } from './file-map-store.ts'
import type { JsonlStoreOptions } from './jsonl-store.ts'
import type { RemoteStoreOptions } from './remote-store.ts'
import type { SqliteStoreOptions } from './sqlite-store.ts'

// The root module exports every store, and loads each on first use.

/** Sessions in memory. */
export function createMemoryStore(options: { clock?: Clock } = {}): SessionStore {
  const load = async () => (await import('./memory-store.ts')).createMemoryStore(options)
  const { identity: _none, close: _nothing, ...store } = lazily(load)
  return store
}

/** Sessions in one SQLite file. `libero/session/sqlite` has more functions for it. */
export function createSqliteStore(options: SqliteStoreOptions): SessionStore {
  need('createSqliteStore', 'path', options?.path)
  return lazily(async () => (await import('./sqlite-store.ts')).createSqliteStore(options))
}

/** Sessions as folders of text files. */
export function createJsonlStore(options: JsonlStoreOptions): SessionStore {
  need('createJsonlStore', 'dir', options?.dir)
  return lazily(async () => (await import('./jsonl-store.ts')).createJsonlStore(options))
}

/** Sessions on another machine, over HTTP. */
export function createRemoteStore(options: RemoteStoreOptions): SessionStore {
  need('createRemoteStore', 'url', options?.url instanceof URL ? options.url.href : options?.url)
  return lazily(async () => (await import('./remote-store.ts')).createRemoteStore(options))
}

/** Sessions in anything that can get, save and delete texts by name. For one process only. */
export function createFileMapStore(adapter: FileMapAdapter, options: { readonly clock?: Clock } = {}): SessionStore {
  for (const verb of ['get', 'save', 'delete'] as const)
    if (typeof adapter?.[verb] !== 'function')
      throw new TypeError(`createFileMapStore needs an adapter { get, save, delete }, got ${show(adapter)}`)
  const load = async () => (await import('./file-map-store.ts')).createFileMapStore(adapter, options)
  const { identity: _none, ...store } = lazily(load)
  return { ...store, isOneProcess: true }
}

function need(maker: string, option: string, value: unknown): void {
  if (typeof value !== 'string' || value === '')
    throw new TypeError(`${maker} needs { ${option}: a text }, got ${show(value)}`)
}

function lazily(load: () => Promise<SessionStore>): SessionStore {
  let loading: Promise<SessionStore> | undefined
  const store = (): Promise<SessionStore> => (loading ??= load())
  return {
    append: async (...args) => (await store()).append(...args),
    read: async (...args) => (await store()).read(...args),
    find: async (id) => (await store()).find(id),
    list: async (query) => (await store()).list(query),
    delete: async (id) => (await store()).delete(id),
    lease: async (...args) => (await store()).lease(...args),
    send: async (...args) => (await store()).send(...args),
    async *watch(...args) {
      yield* (await store()).watch(...args)
    },
    blobs: (id) => ({
      put: async (bytes) => (await store()).blobs(id).put(bytes),
      get: async (name) => (await store()).blobs(id).get(name),
      names: async () => (await store()).blobs(id).names(),
      delete: async (name) => (await store()).blobs(id).delete(name),
    }),
    async identity() {
      const { identity } = await store()
      if (!identity)
        throw new Error(
          'This store has no identity(), so it cannot be recognized later; use one that outlives the process',
        )
      return identity()
    },
    // Loaded even to be closed, so that later calls fail.
    close: async () => (await store()).close?.(),
  }
}
