import { writeSync } from 'node:fs'
import postgres from 'postgres'
import type { ToolDef } from '../src/core/tool.ts'
import { createAgent } from '../src/create-agent.ts'
import { createFleet } from '../src/durable/create-fleet.ts'
import { isInterrupted } from '../src/sessions/needs-run.ts'
import { createPostgresStore } from '../src/sessions/postgres-store.ts'
import { engineOf } from './engines.ts'
import { taskModel } from './task-model.ts'
import type { WorkerOptions } from './worker-options.ts'

/** A worker process: works until it is killed, or gets SIGTERM. Its tool `record` inserts a row, without any check. */
const options = JSON.parse(process.argv[2]!) as WorkerOptions
const { url, listen, schema, concurrency, thinkMs, graceMs = 30_000 } = options
const effects = postgres(url, {
  max: 2,
  onnotice: () => {},
  connection: { application_name: 'effects' },
})
const store = createPostgresStore({ url, schema, max: 5, ...(listen && { listen }) })
let isNamed = false

const record: ToolDef = {
  spec: {
    name: 'record',
    description: 'Records a task.',
    inputSchema: { type: 'object', properties: { task: { type: 'integer' } }, required: ['task'] },
  },
  replay: 'opaque',
  async execute({ task }, { session }) {
    await effects`insert into ${effects(schema)}.effect (session, task, worker) values (${session?.id ?? ''}, ${Number(task)}, ${options.name})`
    return 'recorded'
  },
}

const fleet = createFleet({
  store,
  dispatcher: await engineOf(options),
  kinds: {
    task: ({ session, summary }) => {
      if (!isNamed) say(`process ${session.processId}`)
      isNamed = true
      if (isInterrupted(summary)) say(`takes ${Date.now()} ${session.id}`)
      return createAgent({ provider: taskModel({ thinkMs }), session, tools: { record } })
    },
  },
  limits: { tenants: options.tenants ?? {} },
  onError: (error) => console.error(error.message),
})

const worker = fleet.work({ concurrency })
say('ready')
process.on('SIGTERM', async () => {
  await worker.drain({ graceMs })
  say('drained')
  await fleet.close()
  await store.close?.()
  await effects.end({ timeout: 1 })
  process.exit(0)
})

function say(line: string): void {
  try {
    writeSync(1, `${line}\n`)
  } catch {} // the parent is gone
}
