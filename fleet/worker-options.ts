import type { TenantLimits } from '../src/durable/dispatcher.ts'

export type EngineName = 'pg-boss' | 'dbos'

export const engineNames: readonly EngineName[] = ['pg-boss', 'dbos']

/** What a worker process is told, as JSON. */
export interface WorkerOptions {
  readonly url: string
  /** Where to listen for notifications, if not at `url`. */
  readonly listen?: string
  readonly schema: string
  readonly engine: EngineName
  readonly name: string
  readonly concurrency: number
  /** How long the model thinks before each reply. */
  readonly thinkMs: number
  readonly tenants?: TenantLimits
  /** How long runs may go on after SIGTERM. */
  readonly graceMs?: number
  /** A worker by hand around the sources of another commit. */
  readonly sources?: string
}
