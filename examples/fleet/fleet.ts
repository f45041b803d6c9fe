// One fleet for every process: libero worker --config fleet.ts, libero serve --fleet fleet.ts, and your own programs.
// With DATABASE_URL it runs on Postgres, on any number of machines; without it on a file, on this one.
import { createAgent, createSqliteStore } from 'libero'
import { createFleet, inProcessDispatcher, pgBossDispatcher } from 'libero/durable'
import { anthropic, offline } from 'libero/providers'
import { createPostgresStore } from 'libero/session/postgres'

const { DATABASE_URL: url, ANTHROPIC_API_KEY: key, FLEET_FILE: path = 'fleet.db' } = process.env

export default createFleet({
  store: url ? createPostgresStore({ url }) : createSqliteStore({ path }),
  dispatcher: url ? pgBossDispatcher({ url }) : inProcessDispatcher(),
  kinds: {
    helper: ({ session, limited }) =>
      createAgent({ session, provider: limited(key ? anthropic() : offline()), system: 'Answer in one sentence.' }),
  },
  limits: { tenants: { default: 20 } },
})
