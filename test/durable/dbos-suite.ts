import { describe, expect, onTestFinished, test } from 'vitest'
import { dbosDispatcher } from '../../src/durable/dispatchers/dbos.ts'
import type { PostgresDispatcherOptions } from '../../src/durable/dispatchers/postgres-queue.ts'
import { dispatcherContract } from '../../src/testing/index.ts'
import { noPgbouncer, startPgbouncer } from '../pgbouncer.ts'
import type { PostgresKit } from '../postgres-kit.ts'
import { sampleOf } from '../soak.ts'
import { postgresClock } from './postgres-clock.ts'

/** The dispatcher on DBOS. */
export function dbosTests(kit: PostgresKit): void {
  const schema = 'dbos_1'
  const open = (options: Partial<PostgresDispatcherOptions> = {}) =>
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
    for (const { name, run } of sampleOf(cases, 5)) test(name, run)
  })

  test('FL48 on DBOS an idle worker, a wake and a claim cost a bounded number of statements', async () => {
    const dispatcher = open(kit.proxied())
    onTestFinished(() => dispatcher.close())
    const options = { kinds: ['coder', 'planner'], tenantLimits: { default: 5 } }
    await dispatcher.wake('warm', { kind: 'coder' })
    await dispatcher.settle(await dispatcher.claim(5, options))
    const statements = (): number => kit.proxy.statements - kit.proxy.executionsOf('pg_notify')
    async function cost(work: () => Promise<unknown>): Promise<number> {
      const before = statements()
      await work()
      return statements() - before
    }
    const idle = await cost(async () => {
      for (let i = 0; i < 10; i++) await dispatcher.claim(20, options)
    })
    const wake = await cost(() => dispatcher.wake('s', { kind: 'coder' }))
    let jobs = await dispatcher.claim(0, options)
    const claim = await cost(async () => {
      jobs = await dispatcher.claim(20, options)
    })
    expect(jobs).toHaveLength(1)
    const beat = await cost(() => dispatcher.extend(jobs))
    const settle = await cost(() => dispatcher.settle(jobs))
    const found = { idle: idle / 10, wake, claim, beat, settle }
    if (process.env.LIBERO_SOAK) console.log(found)
    expect(found).toEqual({ idle: expect.any(Number), wake: 5, claim: expect.any(Number), beat: 1, settle: 7 })
    expect(found.idle).toBeLessThanOrEqual(1.2)
    expect(found.claim).toBeLessThanOrEqual(9)
  })

  test('FL92 on DBOS urgent wakes are claimed first, of any tenant, also if a job of the session waits already', async () => {
    const dispatcher = open()
    onTestFinished(() => dispatcher.close())
    await empty()
    for (const id of ['a', 'b', 'c']) await dispatcher.wake(id, { kind: 'coder' })
    await dispatcher.wake('b', { kind: 'coder', isUrgent: true })
    await dispatcher.wake('other', { kind: 'coder', tenant: 'acme', isUrgent: true })
    const claimed: string[] = []
    for (let i = 0; i < 4; i++) {
      const jobs = await dispatcher.claim(1, { kinds: ['coder'], tenantLimits: {} })
      claimed.push(...jobs.map(({ sessionId }) => sessionId))
    }
    expect([claimed.slice(0, 2).toSorted(), claimed.slice(2)]).toEqual([
      ['b', 'other'],
      ['a', 'c'],
    ])
  })

  test('FL48 on DBOS jobs survive lost connections', async () => {
    const dispatcher = open(kit.proxied())
    onTestFinished(() => dispatcher.close())
    const options = { kinds: ['coder'], tenantLimits: { default: 5 } }
    await dispatcher.wake('s', { kind: 'coder' })
    const jobs = await dispatcher.claim(5, options)
    kit.proxy.refuse(true)
    await kit.admin`select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()
      and backend_type = 'client backend' and state = 'idle' and application_name <> ''`
    const waking = dispatcher.wake('t', { kind: 'coder' })
    const keeping = dispatcher.extend(jobs)
    setTimeout(() => kit.proxy.refuse(false), 300)
    await Promise.all([waking, keeping])
    expect((await dispatcher.claim(5, options)).map(({ sessionId }) => sessionId)).toContain('t')
    await dispatcher.settle(jobs)
  })

  if (noPgbouncer) test.skip(`FL48 PgBouncer: NOT tested here: ${noPgbouncer}`, () => {})
  else
    test('FL48 on DBOS jobs go through PgBouncer in transaction mode', async () => {
      const bouncer = await startPgbouncer(kit.server)
      onTestFinished(() => bouncer.stop())
      const bounced = { url: `${kit.server.url({ port: bouncer.port })}?prepare=false`, listen: kit.server.url() }
      const dispatcher = open(bounced)
      await empty()
      await dispatcher.wake('s', { kind: 'coder' })
      const jobs = await dispatcher.claim(5, { kinds: ['coder'], tenantLimits: { default: 5 } })
      await dispatcher.settle(jobs)
      expect(jobs.map(({ sessionId }) => sessionId)).toEqual(['s'])
      expect(await dispatcher.stats!()).toEqual({ waiting: 0, claimed: 0, later: 0 })
      await dispatcher.close()
    })
}
