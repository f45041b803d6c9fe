import { drainWorkers } from './drains.ts'
import { killPostgres, loseJobs, throughPgbouncer } from './faults.ts'
import { manyThinking, manyWaiting } from './idle.ts'
import { killWorkers } from './kills.ts'
import type { PartOptions, PartResult } from './part.ts'
import { pauseWorkers } from './pauses.ts'
import { poisonSessions } from './poison.ts'
import { messagesPerSecond } from './speed.ts'
import { floodOfOneTenant } from './tenants.ts'
import { oldBesideNew } from './versions.ts'

export type PartName =
  | 'kills'
  | 'drains'
  | 'pauses'
  | 'poison'
  | 'jobs'
  | 'waiting'
  | 'thinking'
  | 'speed'
  | 'tenants'
  | 'pgbouncer'
  | 'postgres'
  | 'versions'

/** The parts of the harness, in the order of the promises in docs/fleet.md. */
export const parts: Readonly<Record<PartName, (options: PartOptions) => Promise<PartResult>>> = {
  kills: killWorkers,
  drains: drainWorkers,
  pauses: pauseWorkers,
  poison: poisonSessions,
  jobs: loseJobs,
  waiting: manyWaiting,
  thinking: manyThinking,
  speed: messagesPerSecond,
  tenants: floodOfOneTenant,
  pgbouncer: throughPgbouncer,
  postgres: killPostgres,
  versions: oldBesideNew,
}

export const partNames = Object.keys(parts) as PartName[]
