import { StoreError } from '../../core/errors.ts'

/** What a store needs of a client of the package `postgres`: what `postgres(url)` gives. */
export interface PostgresSql {
  unsafe(
    statement: string,
    values?: unknown[],
    options?: { prepare?: boolean },
  ): PromiseLike<readonly Readonly<Record<string, unknown>>[]>
  listen(channel: string, heard: (payload: string) => void): Promise<{ unlisten(): Promise<void> }>
}

/** A client that we made, and may end. */
export interface OwnSql extends PostgresSql {
  end(options?: { timeout?: number }): Promise<void>
}

export interface DriverOptions {
  readonly max: number
  readonly onnotify?: (channel: string, payload: string) => void
  readonly onclose?: () => void
}

type Postgres = (url: string, options: Record<string, unknown>) => OwnSql

/** Loads the driver, which nobody needs who has no Postgres, and makes a client. It connects with its first statement. */
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
      backoff: () => 0, // we wait ourselves, by our own clock
      onnotice: () => {},
    })
  } catch {
    // Not as its cause: that one names the url, with the password in it.
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
