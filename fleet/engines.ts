import type { Dispatcher } from '../src/durable/dispatcher.ts'
import { dbosDispatcher } from '../src/durable/dispatchers/dbos.ts'
import { pgBossDispatcher } from '../src/durable/dispatchers/pg-boss.ts'
import type { WorkerOptions } from './worker-options.ts'

/** The tables of the jobs are in a schema of their own beside that of the store. */
const jobsOf = (schema: string): string => `${schema}_jobs`

export function engineOf({ engine, url, schema }: Pick<WorkerOptions, 'engine' | 'url' | 'schema'>): Dispatcher {
  const make = engine === 'dbos' ? dbosDispatcher : pgBossDispatcher
  return make({ url, schema: jobsOf(schema) })
}

/** Deletes all jobs that wait, as if the engine had lost them. */
export function deleteJobsSql({ engine, schema }: Pick<WorkerOptions, 'engine' | 'schema'>): string {
  if (engine === 'pg-boss') return `delete from "${jobsOf(schema)}".job where state <> 'completed'`
  return `delete from "${jobsOf(schema)}".workflow_status where status in ('ENQUEUED', 'PENDING', 'DELAYED')`
}
