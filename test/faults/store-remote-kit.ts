import type { LogEntry } from '../../src/core/log.ts'
import type { SessionStore } from '../../src/core/store.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { createRemoteStore, type RemoteStoreOptions } from '../../src/sessions/remote-store.ts'
import { createStoreHandler, type StoreHandlerOptions } from '../../src/sessions/store-handler.ts'
import { type FakeClock, fakeClock } from '../../src/testing/index.ts'
import { type StoreServer, socketFetch, storeServer } from '../store-server.ts'

export const token = 'tok-5f2c9d-very-secret'

export const label = (seq: number, text = `entry ${seq}`): LogEntry => ({
  seq,
  id: `${text}-${seq}`,
  at: seq,
  type: 'label',
  text,
})

export interface RemoteWorld {
  readonly clock: FakeClock
  /** The store behind the server. */
  readonly inner: SessionStore
  readonly server: StoreServer
  open(options?: Partial<RemoteStoreOptions>): SessionStore
}

/** A server over real sockets; its clients live by a clock that is turned by hand. */
export async function remoteWorld(
  options: Partial<StoreHandlerOptions> & { clock?: FakeClock } = {},
): Promise<RemoteWorld> {
  const { clock = fakeClock(1_700_000_000_000), ...rest } = options
  const inner = rest.store ?? createMemoryStore({ clock })
  const server = await storeServer(createStoreHandler({ token, clock, ...rest, store: inner }))
  return {
    clock,
    inner,
    server,
    open: (more = {}) => createRemoteStore({ url: server.url, token, clock, fetch: socketFetch, ...more }),
  }
}

/** What the work comes to while time passes, within bounds. */
export async function inTime<T>(clock: FakeClock, work: Promise<T>, stepMs = 250): Promise<T> {
  let isOver = false
  const over = (): void => void (isOver = true)
  work.then(over, over)
  for (let step = 0; step < 2000 && !isOver; step++) await clock.advance(stepMs)
  if (!isOver) throw new Error('The work does not end, however much time passes')
  return work
}

export const failureOf = (work: Promise<unknown>): Promise<Error & { code?: string; owner?: string; since?: number }> =>
  work.then(
    () => Promise.reject(new Error('It did not fail')),
    (error) => error,
  )

/** A client of a server that answers whatever it is told to. */
export function openTo(
  answer: (url: string, init: RequestInit) => Response | Promise<Response>,
  options: Partial<RemoteStoreOptions> = {},
): SessionStore {
  return createRemoteStore({
    url: 'https://store.test/base',
    token,
    retries: 0,
    fetch: async (url, init) => answer(String(url), init ?? {}),
    ...options,
  })
}

export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(typeof body === 'string' ? body : JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  })
