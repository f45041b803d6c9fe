import type { Dispatcher } from '../src/durable/dispatcher.ts'
import type { WorkerOptions } from './worker-options.ts'

/** The tables of the jobs are in a schema of their own beside that of the store. */
const jobsOf = (schema: string): string => `${schema}_jobs`

/** Loads only the engine that is asked for: a worker must start quickly. */
export async function engineOf(
  options: Pick<WorkerOptions, 'engine' | 'url' | 'schema' | 'listen'>,
): Promise<Dispatcher> {
  const { url, listen } = options
  const settings = { url, schema: jobsOf(options.schema), ...(listen !== undefined && { listen }) }
  if (options.engine === 'dbos') return (await import('../src/durable/dispatchers/dbos.ts')).dbosDispatcher(settings)
  return (await import('../src/durable/dispatchers/pg-boss.ts')).pgBossDispatcher(settings)
}

/** Deletes all jobs that wait, as if the engine had lost them. */
export function deleteJobsSql({ engine, schema }: Pick<WorkerOptions, 'engine' | 'schema'>): string {
  if (engine === 'pg-boss') return `delete from "${jobsOf(schema)}".job where state <> 'completed'`
  return `delete from "${jobsOf(schema)}".workflow_status where status in ('ENQUEUED', 'PENDING', 'DELAYED')`
}
