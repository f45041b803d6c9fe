import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import postgres from 'postgres'
import { engineOf } from './engines.ts'
import { taskModel } from './task-model.ts'
import type { WorkerOptions } from './worker-options.ts'

/**
 * A worker written by hand around the sources of any commit: it claims jobs, loads the session and runs it. For comparing
 * with commits that have no fleet, and for running them beside one.
 */
const options = JSON.parse(process.argv[2]!) as WorkerOptions & { readonly sources: string }
const { url, schema, concurrency, thinkMs, sources } = options
const from = <Module>(path: string): Promise<Module> => import(pathToFileURL(`${sources}/src/${path}`).href)
const { createPostgresStore } =
  await from<typeof import('../src/sessions/postgres-store.ts')>('sessions/postgres-store.ts')
const { loadSession } = await from<typeof import('../src/sessions/session.ts')>('sessions/session.ts')
const { createAgent } = await from<typeof import('../src/create-agent.ts')>('create-agent.ts')
const store = createPostgresStore({ url, schema, max: 5 })
const dispatcher = await engineOf(options)
const effects = postgres(url, { max: 2, onnotice: () => {} })
let running = 0
let wake = (): void => {}
dispatcher.onWake?.(() => wake())
writeSync(1, 'ready\n')

const record = {
  spec: { name: 'record', description: 'Records a task.', inputSchema: { type: 'object' } },
  replay: 'opaque' as const,
  async execute(
    { task }: Readonly<Record<string, unknown>>,
    { session }: { readonly session?: { readonly id: string } },
  ) {
    await effects`insert into ${effects(schema)}.effect (session, task, worker) values (${session?.id ?? ''}, ${Number(task)}, ${options.name})`
    return 'recorded'
  },
}

for (;;) {
  const free = concurrency - running
  const jobs = free > 0 ? await dispatcher.claim(free, { kinds: ['task'], tenantLimits: {} }) : []
  for (const job of jobs) {
    running++
    void runSession(job.sessionId)
      .catch((error: Error) => console.error(`${job.sessionId}: ${error.name}: ${error.message}`))
      .then(() => dispatcher.settle([job]))
      .finally(() => {
        running--
        wake()
      })
  }
  if (jobs.length === 0 || jobs.length === free) await nextLook()
}

function nextLook(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 500)
    wake = () => {
      clearTimeout(timer)
      resolve()
    }
  })
}

async function runSession(id: string): Promise<void> {
  const session = await loadSession(store, id, { leaseMs: 8000 })
  const agent = createAgent({ provider: taskModel({ thinkMs }), session, tools: { record: record as never } })
  try {
    await agent.run()
  } catch (error) {
    if ((error as Error).name !== 'SessionBusyError') throw error
    await dispatcher.wake(id, { kind: 'task', at: Date.now() + 1000 }) // another worker has it
  } finally {
    await agent.destroy()
  }
}
