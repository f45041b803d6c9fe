import { describe } from 'vitest'
import type { Dispatcher, Job } from '../../src/durable/dispatcher.ts'
import { inProcessDispatcher } from '../../src/durable/dispatchers/in-process.ts'
import { dispatcherContract } from '../../src/testing/index.ts'
import { catches, type Mutants } from '../contract-mutants.ts'

/** The contract for a dispatcher in memory that several workers share, each behind the wrapper. */
const contractOf = (wrap: (good: Dispatcher) => Dispatcher) => {
  let shared: Dispatcher
  return dispatcherContract(
    (clock) => {
      shared = inProcessDispatcher({ clock })
      return wrap(shared)
    },
    // Memory has no transactions: the dispatcher wakes at once.
    { again: () => wrap(shared), transaction: (work) => work({ unsafe: async () => [] }) },
  )
}

const changed = (good: Dispatcher, change: Partial<Dispatcher>): Dispatcher => ({ ...good, ...change })

const claimed = (good: Dispatcher, change: (jobs: readonly Job[]) => readonly Job[]): Dispatcher =>
  changed(good, { claim: async (...args) => change(await good.claim(...args)) })

const always = { kinds: ['coder', 'planner', 'writer'], tenantLimits: {} }
let count = 0
const latest = new Map<string, Job>()

describe('the dispatcher contract catches', () => {
  catches(
    {
      'FL39 a dispatcher that forgets the tenant': [
        'FL31 a wake becomes a job with its session, kind and tenant',
        (good) => changed(good, { wake: (id, { tenant: _, ...rest }) => good.wake(id, rest) }),
      ],
      'FL39 a dispatcher that makes a job of every wake': [
        'FL31 several wakes of a session that waits are one job',
        (good) => {
          const doubled: Job[] = []
          return changed(good, {
            async wake(id, options) {
              if (count++ % 2) doubled.push({ sessionId: id, kind: options.kind, tenant: '', attempt: 1, dueAt: 0 })
              await good.wake(id, options)
            },
            claim: async (free, options) => [...(await good.claim(free, options)), ...doubled.splice(0)],
          })
        },
      ],
      'FL39 a dispatcher that gives a job to two workers': [
        'FL31 a claimed job is claimed by one worker',
        (good) => {
          let last: readonly Job[] = []
          return changed(good, {
            async claim(free, options) {
              const jobs = await good.claim(free, options)
              const given = jobs.length > 0 ? jobs : last
              last = jobs
              return given
            },
          })
        },
      ],
      'FL39 a dispatcher that swallows a wake while the session is claimed': [
        'FL32 a wake that comes while the session is claimed is kept',
        (good) => {
          const running = new Set<string>()
          return changed(good, {
            async wake(id, options) {
              if (!running.has(id)) await good.wake(id, options)
            },
            async claim(free, options) {
              const jobs = await good.claim(free, options)
              for (const { sessionId } of jobs) running.add(sessionId)
              return jobs
            },
            async settle(jobs) {
              for (const { sessionId } of jobs) running.delete(sessionId)
              await good.settle(jobs)
            },
          })
        },
      ],
      'FL39 a dispatcher that does not settle': [
        'FL32 a settled job is gone, and its session can be woken again',
        (good) => changed(good, { settle: async () => {} }),
      ],
      'FL39 a dispatcher that gives more than are free': [
        'FL31 a claim takes the oldest jobs first, and no more than are free',
        (good) => changed(good, { claim: (free, options) => good.claim(free + 1, options) }),
      ],
      'FL39 a dispatcher that gives the youngest first': [
        'FL31 a claim takes the oldest jobs first, and no more than are free',
        (good) => claimed(good, (jobs) => [...jobs].reverse()),
      ],
      'FL39 a dispatcher that gives jobs of every kind': [
        'FL31 a worker claims only kinds that it has',
        (good) =>
          changed(good, {
            claim: (free, { tenantLimits }) => good.claim(free, { kinds: always.kinds, tenantLimits }),
          }),
      ],
      'FL39 a dispatcher that does not wait for the time of a job': [
        'FL33 a job for a later time waits for it',
        (good) => changed(good, { wake: (id, { at: _, ...rest }) => good.wake(id, rest) }),
      ],
      'FL39 a dispatcher whose first time of a session counts': [
        'FL33 of several times of a session the earliest counts',
        (good) => {
          const first = new Map<string, number | undefined>()
          return changed(good, {
            wake(id, { at, ...rest }) {
              if (!first.has(id)) first.set(id, at)
              const time = first.get(id)
              return good.wake(id, { ...rest, ...(time !== undefined && { at: time }) })
            },
          })
        },
      ],
      'FL39 a dispatcher without limits': [
        'FL34 the limit of a tenant holds over all workers',
        (good) => changed(good, { claim: (free, { kinds }) => good.claim(free, { kinds, tenantLimits: {} }) }),
      ],
      'FL39 a dispatcher whose limits hold for each claim': [
        'FL34 the limit of a tenant holds over all workers',
        (good) =>
          changed(good, {
            async claim(free, { kinds, tenantLimits }) {
              const jobs = await good.claim(free, { kinds, tenantLimits: {} })
              return jobs.slice(0, tenantLimits.ann ?? free)
            },
          }),
      ],
      'FL39 a dispatcher that stops at the first tenant that has enough': [
        'FL34 a tenant at its limit does not hold up others',
        (good) =>
          changed(good, {
            async claim(free, options) {
              const jobs = await good.claim(free, options)
              return jobs.filter(({ tenant }) => tenant === 'ann')
            },
          }),
      ],
      'FL39 a dispatcher whose claims never lapse': [
        'FL35 a claim that is not kept lapses',
        (good) => {
          const held: Job[] = []
          return changed(good, {
            async claim(free, options) {
              await good.extend(held)
              const jobs = await good.claim(free, options)
              held.push(...jobs)
              return jobs
            },
          })
        },
      ],
      'FL39 a dispatcher that counts no attempts': [
        'FL35 a claim that is not kept lapses',
        (good) => claimed(good, (jobs) => jobs.map((job) => ({ ...job, attempt: 1 }))),
      ],
      'FL39 a dispatcher that lets a worker settle what it lost': [
        'FL35 a claim that is not kept lapses',
        (good) =>
          changed(good, {
            async claim(free, options) {
              const jobs = await good.claim(free, options)
              for (const job of jobs) latest.set(job.sessionId, job)
              return jobs
            },
            settle: (jobs) => good.settle(jobs.map((job) => latest.get(job.sessionId) ?? job)),
          }),
      ],
      'FL39 a dispatcher that keeps no claims': [
        'FL35 a claim that is kept does not lapse',
        (good) => changed(good, { extend: async () => {} }),
      ],
      'FL39 a dispatcher that counts a lapsed claim for ever': [
        'FL35 a job that lapsed counts as little as any other',
        (good) => {
          let isFirst = true
          return changed(good, {
            async claim(free, options) {
              if (!isFirst) return []
              isFirst = false
              return good.claim(free, options)
            },
          })
        },
      ],
      'FL39 a dispatcher that trims names': [
        'FL31 any name of a session, a kind and a tenant is kept',
        (good) => claimed(good, (jobs) => jobs.map((job) => ({ ...job, sessionId: job.sessionId.slice(0, 255) }))),
      ],
      'FL39 a dispatcher that does not tell of wakes': [
        'FL36 a listener is called when a job comes, until it is stopped',
        (good) => changed(good, { onWake: () => () => {} }),
      ],
      'FL39 a dispatcher that goes on to tell': [
        'FL36 a listener is called when a job comes, until it is stopped',
        (good) =>
          changed(good, {
            onWake(listener) {
              good.onWake!(listener)
              return () => {}
            },
          }),
      ],
      'FL39 a dispatcher that counts later jobs as waiting': [
        'FL36 the numbers of jobs are right',
        (good) =>
          changed(good, {
            async stats() {
              const { waiting, later, ...rest } = await good.stats!()
              return { ...rest, waiting: waiting + later, later: 0 }
            },
          }),
      ],
      'FL39 a dispatcher that wakes before the commit': [
        'FL37 a wake in a transaction counts when it commits',
        (good) => good,
      ],
      'FL39 a dispatcher that wakes after a rollback': [
        'FL37 a wake in a transaction that is rolled back counts for nothing',
        (good) => good,
      ],
    } satisfies Mutants<Dispatcher>,
    contractOf,
  )
})
