import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, describe, test } from 'vitest'
import { createPostgresStore, type PostgresStore, type PostgresStoreOptions } from '../src/sessions/postgres-store.ts'
import { type PostgresProxy, startProxy } from './faults/postgres-proxy.ts'
import { noPostgres, type PostgresServer, startPostgres } from './postgres-server.ts'

/** A server for the tests of one file, and stores in it, which are closed after each test. */
export interface PostgresKit {
  readonly server: PostgresServer
  /** A proxy in front of the server. */
  readonly proxy: PostgresProxy
  /** A client beside the stores. */
  readonly admin: postgres.Sql
  /** The schema of the stores of this test. */
  readonly schema: string
  /** A store in the schema of this test. */
  open(options?: Partial<PostgresStoreOptions>): PostgresStore
  /** A store in a new schema. */
  openNew(options?: Partial<PostgresStoreOptions>): PostgresStore
  /** The options of a store behind the proxy. */
  proxied(): { url: string }
}

if (noPostgres) console.warn(`NOT TESTED, what needs Postgres: ${noPostgres}`)

/** Runs the tests of `suite` with a server, or says loudly that they do not run. */
export function withPostgres(name: string, suite: (kit: PostgresKit) => void): void {
  if (noPostgres) test.skip(`${name}: NOT tested here: ${noPostgres}`, () => {})
  else describe(name, () => suite(createKit()))
}

function createKit(): PostgresKit {
  const made: Partial<Record<'server' | 'proxy' | 'admin', unknown>> = {}
  const stores: PostgresStore[] = []
  let schemas = 0

  beforeAll(async () => {
    const server = await startPostgres()
    Object.assign(made, { server, proxy: await startProxy(server.port) })
    made.admin = postgres(server.url(), { max: 3, backoff: () => 0, onnotice: () => {} })
  }, 60_000)
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close?.()))
  })
  afterAll(async () => {
    await (made.admin as postgres.Sql | undefined)?.end({ timeout: 1 })
    await (made.proxy as PostgresProxy | undefined)?.close()
    await (made.server as PostgresServer | undefined)?.stop()
  }, 60_000)

  const kit: PostgresKit = {
    get server() {
      return made.server as PostgresServer
    },
    get proxy() {
      return made.proxy as PostgresProxy
    },
    get admin() {
      return made.admin as postgres.Sql
    },
    get schema() {
      return `place_${schemas}`
    },
    open(options = {}) {
      const where = options.sql ? {} : { url: kit.server.url() }
      const store = createPostgresStore({ ...where, schema: kit.schema, ...options })
      stores.push(store)
      return store
    },
    openNew(options) {
      schemas++
      return kit.open(options)
    },
    proxied: () => ({ url: kit.server.url({ port: kit.proxy.port }) }),
  }
  return kit
}

/** Waits until something is true. */
export async function eventually(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if (await isTrue()) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('what was waited for never came')
}
