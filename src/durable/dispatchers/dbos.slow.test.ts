import { describe, test } from 'vitest'
import { postgresClock } from '../../../test/durable/postgres-clock.ts'
import { withPostgres } from '../../../test/postgres-kit.ts'
import { dispatcherContract } from '../../testing/index.ts'
import { type DbosDispatcherOptions, dbosDispatcher } from './dbos.ts'

withPostgres('the dispatcher on DBOS', (kit) => {
  const schema = 'dbos_1'
  const open = (options: Partial<DbosDispatcherOptions> = {}) =>
    dbosDispatcher({ url: kit.server.url(), schema, ...options })

  async function empty(): Promise<void> {
    const [row] = await kit.admin`select to_regclass(${`${schema}.workflow_status`}) as found`
    if (row?.found) await kit.admin.unsafe(`delete from ${schema}.workflow_status`)
  }

  const older = (ms: string): readonly string[] => {
    const number = `(extract(epoch from ${ms}) * 1000)::bigint`
    const columns = ['created_at', 'updated_at', 'delay_until_epoch_ms'].map((name) => `${name} = ${name} - ${number}`)
    return [`update ${schema}.workflow_status set ${columns.join(', ')}`]
  }
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
