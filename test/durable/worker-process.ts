import { appendFileSync } from 'node:fs'
import { createAgent } from '../../src/create-agent.ts'
import { createFleet } from '../../src/durable/create-fleet.ts'
import { inProcessDispatcher } from '../../src/durable/dispatchers/in-process.ts'
import type { KindRequest } from '../../src/durable/fleet.ts'
import { createSqliteStore } from '../../src/sessions/stores.ts'
import { taskAgent } from './task-agent.ts'

/** A worker process over an SQLite file. It says when it runs a session, works until it is killed, and ends when there is nothing to do. */
const [path = '', effects = ''] = process.argv.slice(2)
const store = createSqliteStore({ path })

const fleet = createFleet({
  store,
  dispatcher: inProcessDispatcher(),
  kinds: {
    /** Stops at the step that its id names, for ever. */
    stuck: ({ session }: KindRequest) => taskAgent(session, effects, { stopsAt: session.id }),
    slow: ({ session }: KindRequest) => taskAgent(session, effects, { thinkMs: 400 }),
    killer: ({ session }: KindRequest) =>
      createAgent({
        session,
        provider: {
          meta: { name: 'killer', defaultModel: 'k' },
          async *stream() {
            await new Promise((resolve) => setTimeout(resolve, 100))
            appendFileSync(effects, `died of ${session.id}\n`)
            process.exit(1)
          },
        },
      }),
  },
})
const worker = fleet.work({ concurrency: 10 })
console.log('ready')
setInterval(() => console.log(`running ${worker.status().running}, done ${worker.status().done}`), 100)
