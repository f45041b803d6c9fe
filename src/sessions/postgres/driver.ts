import { StoreError } from '../../core/errors.ts'

/** Notifies watchers of changes to a session. Notifications may be lost; polling finds what they miss. */
interface ChangeNotifications {
  on(session: string, listener: () => void): () => void
  /** Connects again if the connection was lost. */
  reconnect(): void
  close(): Promise<void>
}

interface Listener {
  close(): Promise<unknown>
}

/** One connection listens for all watchers, as long as there are any. */
export function createNotifications(
  channel: string,
  { url, sql }: { url: string; sql?: PostgresSql },
): ChangeNotifications {
  const listeners = new Map<string, Set<() => void>>()
  let connecting: Promise<Listener> | undefined
  let ending: Promise<unknown> | undefined
  let isClosed = false

  function notify(session?: string): void {
    const notified = session === undefined ? [...listeners.values()] : [listeners.get(session) ?? []]
    for (const some of notified) for (const listener of [...some]) listener()
  }

  function reconnect(): void {
    if (connecting || isClosed || listeners.size === 0) return
    const forget = (): void => {
      if (connecting === mine) connecting = undefined
    }
    let wasConnected = false
    const lost = (): void => {
      forget()
      // A connection that was never made is tried again with the next poll. To notify the watchers would make them poll at
      // once, and ask a server without free connections again and again.
      if (wasConnected) notify()
    }
    const mine = sql ? listenOnGivenClient(sql, channel, notify) : listenOnOwnClient(url, channel, notify, lost)
    connecting = mine
    mine.then(() => {
      wasConnected = true
      notify() // for changes before the connection was made
    }, forget)
  }

  function disconnect(): void {
    ending = Promise.all([ending, connecting?.then((open) => open.close())]).catch(() => {})
    connecting = undefined
  }

  return {
    on(session, listener) {
      const some = listeners.get(session) ?? new Set()
      listeners.set(session, some.add(listener))
      reconnect()
      return () => {
        some.delete(listener)
        if (some.size === 0 && listeners.get(session) === some) listeners.delete(session)
        if (listeners.size === 0) disconnect()
      }
    },
    reconnect,
    async close() {
      isClosed = true
      listeners.clear()
      disconnect()
      await ending
    },
  }
}

async function listenOnOwnClient(
  url: string,
  channel: string,
  onChange: (session: string) => void,
  lost: () => void,
): Promise<Listener> {
  const client = await openDriver(url, { max: 1, onnotify: (_, session) => onChange(session), onclose: lost })
  const close = (): Promise<void> => client.end({ timeout: 1 })
  try {
    await client.unsafe(`listen "${channel}"`)
  } catch (error) {
    await close()
    throw error
  }
  return { close }
}

/** The driver has its own connection for this and renews it. After a failure, another attempt would not help. */
async function listenOnGivenClient(
  sql: PostgresSql,
  channel: string,
  onChange: (session: string) => void,
): Promise<Listener> {
  try {
    const { unlisten } = await sql.listen(channel, onChange)
    return { close: unlisten }
  } catch {
    return { close: async () => {} }
  }
}

/** The part of a client of the package `postgres` that a store needs, as returned by `postgres(url)`. */
export interface PostgresSql {
  unsafe(
    statement: string,
    values?: unknown[],
    options?: { prepare?: boolean },
  ): PromiseLike<readonly Readonly<Record<string, unknown>>[]>
  listen(channel: string, onMessage: (payload: string) => void): Promise<{ unlisten(): Promise<void> }>
}

/** A client that the store created and may end. */
export interface OwnSql extends PostgresSql {
  end(options?: { timeout?: number }): Promise<void>
}

interface DriverOptions {
  readonly max: number
  readonly onnotify?: (channel: string, payload: string) => void
  readonly onclose?: () => void
}

type Postgres = (url: string, options: Record<string, unknown>) => OwnSql

/** Loads the optional driver and creates a client, which connects with its first statement. */
export async function openDriver(url: string, { max, onnotify, onclose }: DriverOptions): Promise<OwnSql> {
  const postgres = await loadDriver()
  try {
    return postgres(url, {
      max,
      idle_timeout: onnotify ? null : 60,
      ...(onnotify && { max_lifetime: null, onnotify }),
      ...(onclose && { onclose }),
      connect_timeout: 10,
      connection: { application_name: 'libero' },
      fetch_types: false,
      backoff: () => 0, // the store waits itself, by its own clock
      onnotice: () => {},
    })
  } catch {
    // Without the cause, which contains the url with its password.
    throw new TypeError(
      'createPostgresStore cannot read its url; write postgres://user:password@host:5432/database, and %40 for an @ in the password',
    )
  }
}

async function loadDriver(): Promise<Postgres> {
  try {
    const { default: postgres } = await import('postgres')
    return postgres as unknown as Postgres
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new StoreError('unavailable', 'createPostgresStore needs the package "postgres": npm install postgres', {
      cause: error,
    })
  }
}
