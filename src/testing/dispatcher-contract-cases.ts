import type { ClaimOptions, Dispatcher, Job } from '../durable/dispatcher.ts'
import type { PostgresTransaction } from '../sessions/postgres-store.ts'
import { check, checkEqual } from './contract.ts'
import type { FakeClock } from './fake-clock.ts'

/** What the cases of the dispatcher contract use. */
export interface Scene {
  readonly clock: Omit<FakeClock, 'pending'>
  readonly first: Dispatcher
  /** Another worker's dispatcher for the same jobs, or the same one. */
  readonly second: Dispatcher
  /** Wakes sessions of the kind `coder`, one after the other. */
  wake(...ids: readonly string[]): Promise<void>
  claim(free: number, options?: Partial<ClaimOptions> & { readonly by?: Dispatcher }): Promise<readonly Job[]>
  /** Claims all jobs that are due and expects those of these sessions. */
  expectClaimed(ids: readonly string[], options?: Partial<ClaimOptions> & { by?: Dispatcher }): Promise<readonly Job[]>
  eventually(isTrue: () => boolean, what: string): Promise<void>
  transaction(work: (sql: PostgresTransaction) => Promise<unknown>): Promise<unknown>
}

export type DispatcherCase = (scene: Scene) => Promise<void>

const sessions = (count: number, name: string): string[] => Array.from({ length: count }, (_, i) => `${name}${i}`)

const oddName = 'ä "\'\\ /$1; {}, \u0000 \ud800 \u{1F469}\u200D\u{1F680}'

export const dispatcherCases: Record<string, DispatcherCase> = {
  'FL31 a wake becomes a job with its session, kind and tenant': async ({ clock, first, expectClaimed }) => {
    const woken = clock.now()
    await first.wake('s', { kind: 'coder', tenant: 'ann' })
    await first.wake('t', { kind: 'coder' })
    const jobs = await expectClaimed(['s', 't'])
    const facts = jobs.map(({ sessionId, kind, tenant, attempt }) => ({ sessionId, kind, tenant, attempt }))
    checkEqual(
      facts,
      [
        { sessionId: 's', kind: 'coder', tenant: 'ann', attempt: 1 },
        { sessionId: 't', kind: 'coder', tenant: '', attempt: 1 },
      ],
      'what the jobs say',
    )
    check(Math.abs(jobs[0]!.dueAt - woken) < 60_000, `dueAt is ${jobs[0]!.dueAt}, expected about ${woken}`)
  },

  'FL31 several wakes of a session that waits are one job': async ({ wake, expectClaimed }) => {
    await wake('s', 't', 's', 's')
    await expectClaimed(['s', 't'])
    await expectClaimed([])
  },

  'FL31 a claimed job is claimed by one worker': async ({ wake, claim, first, second }) => {
    await wake(...sessions(20, 's'))
    const claims = await Promise.all([first, second, first, second].map((by) => claim(10, { by })))
    const ids = claims.flat().map(({ sessionId }) => sessionId)
    checkEqual(new Set(ids).size, ids.length, 'how many sessions were claimed, of so many claims')
    const rest = await claim(100)
    checkEqual([...ids, ...rest.map(({ sessionId }) => sessionId)].sort(), sessions(20, 's').sort(), 'all claims')
  },

  'FL32 a wake that comes while the session is claimed is kept': async ({ wake, first, claim, expectClaimed }) => {
    await wake('s')
    const jobs = await expectClaimed(['s'])
    await wake('s', 's')
    const early = await claim(100) // may be given at once, or when the first job is settled
    await first.settle(jobs)
    const late = await claim(100)
    checkEqual([...early, ...late].length, 1, 'the number of jobs that follow')
    await first.settle([...early, ...late])
    await expectClaimed([])
  },

  'FL32 a settled job is gone, and its session can be woken again': async ({ clock, wake, first, expectClaimed }) => {
    await wake('s', 't')
    const jobs = await expectClaimed(['s', 't'])
    await first.settle(jobs.slice(0, 1))
    await wake('s')
    const next = await expectClaimed(['s'])
    await first.settle([...jobs, ...next])
    await clock.advance(20 * first.extendEveryMs)
    await expectClaimed([])
  },

  'FL31 a claim takes the oldest jobs first, and no more than are free': async ({ wake, claim, first, clock }) => {
    for (const id of sessions(5, 's')) {
      await wake(id)
      await clock.advance(2)
    }
    const taken: string[] = []
    for (const free of [0, 2, 1, 10]) {
      const jobs = await claim(free)
      check(jobs.length <= free, `${jobs.length} jobs were claimed where ${free} were free`)
      taken.push(...jobs.map(({ sessionId }) => sessionId))
    }
    checkEqual(taken, sessions(5, 's'), 'the order of the claims')
    await first.extend([])
    await first.settle([])
  },

  'FL31 a worker claims only kinds that it has': async ({ first, wake, expectClaimed }) => {
    await first.wake('p', { kind: 'planner' })
    await wake('s')
    await first.wake('w', { kind: 'writer' })
    await expectClaimed([], { kinds: [] })
    await expectClaimed(['s'])
    await expectClaimed(['p', 'w'], { kinds: ['planner', 'coder', 'writer'] })
  },

  'FL33 a job for a later time waits for it': async ({ clock, first, expectClaimed }) => {
    const at = clock.now() + 60_000
    await first.wake('s', { kind: 'coder', at })
    await expectClaimed([])
    await clock.advance(30_000)
    await expectClaimed([])
    await clock.advance(30_001)
    const [job] = await expectClaimed(['s'])
    check(Math.abs(job!.dueAt - at) <= 61_000, `dueAt is ${job!.dueAt}, expected about ${at}`)
  },

  'FL33 of several times of a session the earliest counts': async ({ clock, first, wake, expectClaimed }) => {
    const now = clock.now()
    await first.wake('s', { kind: 'coder', at: now + 60_000 })
    await wake('s')
    await wake('t')
    await first.wake('t', { kind: 'coder', at: now + 60_000 })
    for (const minutes of [3, 1, 2]) await first.wake('u', { kind: 'coder', at: now + minutes * 60_000 })
    const jobs = await expectClaimed(['s', 't'])
    await first.settle(jobs)
    await clock.advance(61_000)
    await expectClaimed(['u'])
  },

  'FL34 the limit of a tenant holds over all workers': async ({ first, second, claim, clock }) => {
    for (const id of sessions(12, 's')) await first.wake(id, { kind: 'coder', tenant: 'ann' })
    const tenantLimits = { default: 1, ann: 3 }
    const claims = await Promise.all([first, second, first, second].map((by) => claim(10, { by, tenantLimits })))
    const jobs = claims.flat()
    checkEqual(jobs.length, 3, 'the number of claimed jobs of a tenant whose limit is 3')
    await first.extend(jobs)
    await clock.advance(1)
    checkEqual((await claim(10, { tenantLimits })).length, 0, 'jobs beyond the limit')
    await first.settle(jobs.slice(1))
    checkEqual((await claim(10, { by: second, tenantLimits })).length, 2, 'jobs after two were settled')
  },

  'FL34 a tenant at its limit does not hold up others': async ({ first, clock, claim }) => {
    for (const id of sessions(30, 'flood')) await first.wake(id, { kind: 'coder', tenant: 'ann' })
    await clock.advance(5)
    await first.wake('own', { kind: 'coder', tenant: 'bob' })
    await first.wake('none', { kind: 'coder' })
    await first.wake('zero', { kind: 'coder', tenant: 'zoe' })
    const jobs = await claim(10, { tenantLimits: { default: 5, ann: 2, zoe: 0 } })
    const ids = jobs.map(({ sessionId }) => sessionId)
    check(ids.includes('own') && ids.includes('none'), `the jobs of other tenants were not claimed: ${ids}`)
    checkEqual(
      ids.filter((id) => id.startsWith('flood')),
      ['flood0', 'flood1'],
      'the jobs of the tenant at its limit',
    )
    check(!ids.includes('zero'), 'a job was claimed of a tenant whose limit is 0')
  },

  'FL35 a claim that is not kept lapses': async ({ clock, wake, first, second, expectClaimed }) => {
    await wake('s', 't')
    const lost = await expectClaimed(['s', 't'])
    await clock.advance(10 * first.extendEveryMs)
    const [again] = await expectClaimed(['s', 't'], { by: second })
    checkEqual(again!.attempt, 2, 'the attempt of a job that was claimed again')
    await first.extend(lost)
    await first.settle(lost)
    await clock.advance(10 * first.extendEveryMs)
    const [third] = await expectClaimed(['s', 't'], { by: second })
    checkEqual(third!.attempt, 3, 'the attempt of a job whose first worker settled it too late')
  },

  'FL35 a claim that is kept does not lapse': async ({ clock, wake, first, second, expectClaimed }) => {
    await wake('s', 't')
    const jobs = await expectClaimed(['s', 't'])
    for (let beats = 0; beats < 12; beats++) {
      await clock.advance(first.extendEveryMs)
      await first.extend(jobs.slice(0, 1))
    }
    await expectClaimed(['t'], { by: second })
  },

  'FL35 a job that lapsed counts as little as any other': async ({ clock, wake, first, claim, expectClaimed }) => {
    const tenantLimits = { default: 2 }
    await wake('s')
    await claim(10, { tenantLimits })
    await wake('s')
    await clock.advance(10 * first.extendEveryMs)
    const jobs = await claim(10, { tenantLimits })
    checkEqual(
      [...new Set(jobs.map(({ sessionId }) => sessionId))],
      ['s'],
      'the sessions of the claims after one lapsed and was woken again',
    )
    await first.settle(jobs)
    await expectClaimed([])
  },

  'FL31 any name of a session, a kind and a tenant is kept': async ({ first, claim }) => {
    const names = [oddName, 'a/b', 'A', 'default', '__proto__', 'x'.repeat(300)]
    for (const name of names) await first.wake(name, { kind: `kind ${name}`, tenant: name })
    const kinds = names.map((name) => `kind ${name}`)
    const jobs = await claim(100, { kinds, tenantLimits: { default: 1, [oddName]: 1, a: 1 } })
    const found = jobs.map(({ sessionId, kind, tenant }) => [sessionId, kind, tenant])
    const expected = names.map((name) => [name, `kind ${name}`, name])
    checkEqual(found.sort(), expected.sort(), 'the names of the jobs')
    await first.settle(jobs)
    checkEqual(await claim(100, { kinds }), [], 'the jobs after all were settled')
  },

  'FL36 a listener is called when a job comes, until it is stopped': async ({ second, wake, eventually }) => {
    if (!second.onWake) return
    const calls = { listening: 0, stopped: 0 }
    const stopFirst = second.onWake(() => calls.stopped++)
    const stop = second.onWake(() => calls.listening++)
    stopFirst()
    await eventually(() => true, '')
    const before = { ...calls }
    await wake('s')
    await eventually(() => calls.listening > before.listening, 'a listener waits for a wake in vain')
    stop()
    const stopped = { ...calls }
    await wake('t')
    await eventually(() => true, '')
    checkEqual(calls, { ...stopped, stopped: before.stopped }, 'the calls of listeners that were stopped')
  },

  'FL36 the numbers of jobs are right': async ({ clock, first, wake, claim }) => {
    if (!first.stats) return
    checkEqual(await first.stats(), { waiting: 0, claimed: 0, later: 0 }, 'the numbers of an empty dispatcher')
    await wake('a', 'b', 'c')
    await first.wake('d', { kind: 'coder', at: clock.now() + 3_600_000 })
    await claim(1)
    const { oldestDueAt, ...counts } = await first.stats()
    checkEqual(counts, { waiting: 2, claimed: 1, later: 1 }, 'the numbers')
    check(Math.abs(oldestDueAt! - clock.now()) < 60_000, `the oldest waiting job was due at ${oldestDueAt}`)
  },
}

export const transactionCases: Record<string, DispatcherCase> = {
  'FL37 a wake in a transaction counts when it commits': async ({
    first,
    second,
    transaction,
    wake,
    expectClaimed,
  }) => {
    await wake('waiting')
    await transaction(async (sql) => {
      await first.wake('s', { kind: 'coder', transaction: sql })
      await first.wake('waiting', { kind: 'coder', transaction: sql })
      await expectClaimed([], { by: second })
    })
    await expectClaimed(['waiting', 's'], { by: second })
  },

  'FL37 a wake in a transaction that is rolled back counts for nothing': async (scene) => {
    const { first, transaction, expectClaimed } = scene
    await transaction(async (sql) => {
      await first.wake('s', { kind: 'coder', transaction: sql })
      throw new Error('rolled back')
    }).catch(() => {})
    await expectClaimed([])
  },
}
