import { StoreError } from '../../core/errors.ts'

/** The part of a transaction of the package `postgres` that a store needs: the `sql` of `sql.begin(async (sql) => …)`. */
export interface PostgresTransaction {
  unsafe(
    statement: string,
    values?: unknown[],
    options?: { prepare?: boolean },
  ): PromiseLike<readonly Readonly<Record<string, unknown>>[]>
}

/** The part of a client of the package `postgres` that a store needs, as returned by `postgres(url)`. */
export interface PostgresSql extends PostgresTransaction {
  begin(work: (sql: PostgresTransaction) => Promise<unknown>): PromiseLike<unknown>
  listen(channel: string, onMessage: (payload: string) => void): Promise<{ unlisten(): Promise<void> }>
}

/** A client that the store created and may end. */
export interface OwnSql extends PostgresSql {
  end(options?: { timeout?: number }): Promise<void>
}

interface DriverOptions {
  readonly max: number
  /** Default: what the url says, else true. */
  readonly prepare?: boolean | undefined
  readonly onnotify?: (channel: string, payload: string) => void
  readonly onclose?: () => void
}

type Postgres = (url: string, options: Record<string, unknown>) => OwnSql

/** Loads the optional driver and creates a client, which connects with its first statement. */
export async function openDriver(url: string, options: DriverOptions): Promise<OwnSql> {
  const { max, prepare, onnotify, onclose } = options
  const postgres = await loadDriver()
  try {
    return postgres(url, {
      max,
      ...(prepare !== undefined && { prepare }),
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
    return (url, options) => postgres(url, options)
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new StoreError('unavailable', 'createPostgresStore needs the package "postgres": npm install postgres', {
      cause: error,
    })
  }
}
