import { describe, expect, onTestFinished, test } from 'vitest'
import { postgresClock } from '../../../test/durable/postgres-clock.ts'
import { eventually, withPostgres } from '../../../test/postgres-kit.ts'
import { sampleOf } from '../../../test/soak.ts'
import { dispatcherContract } from '../../testing/index.ts'
import type { Dispatcher } from '../dispatcher.ts'
import { type PgBossDispatcherOptions, pgBossDispatcher } from './pg-boss.ts'

withPostgres('the dispatcher on pg-boss', (kit) => {
  const schema = 'jobs_1'
  const open = (options: Partial<PgBossDispatcherOptions> = {}): Dispatcher =>
    pgBossDispatcher({ url: kit.server.url(), schema, ...options })

  /** Removes all jobs: to create the tables anew for each case would take most of the time. */
  async function empty(): Promise<void> {
    const [row] = await kit.admin`select to_regclass(${`${schema}.job`}) as found`
    if (row?.found) await kit.admin.unsafe(`delete from ${schema}.job`)
  }

  const older = (ms: string): readonly string[] => [
    `update ${schema}.job set start_after = start_after - ${ms}, heartbeat_on = heartbeat_on - ${ms}, created_on = created_on - ${ms}`,
    `update ${schema}.queue set monitor_on = monitor_on - ${ms}, monitor_claim_on = monitor_claim_on - ${ms}`,
  ]
  const clock = () => postgresClock(older, kit.admin)

  describe('keeps the contract', () => {
    const cases = dispatcherContract(
      async (clock) => {
        await empty()
        return open({ clock })
      },
      { clock, again: (clock) => open({ clock }), transaction: (work) => kit.admin.begin(work) as Promise<unknown> },
    )
    for (const { name, run } of cases) test(name, run)
  })
})
