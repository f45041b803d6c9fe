// The queue of queue.mjs as a dispatcher, by the HTTP ingress of Restate. Put it into your fleet.ts:
//   createFleet({ dispatcher: restateDispatcher({ url: 'http://localhost:8080' }), … })
import type { Dispatcher, Job } from 'libero/durable'

interface RestateOptions {
  /** The ingress of the Restate server. */
  readonly url: string
  /** One Restate server may have queues of several fleets. */
  readonly queue?: string
  readonly clock?: { now(): number }
}

interface ClaimedJob extends Job {
  /** Tells this claim from a later one of the same session. */
  readonly claim: number
}

export function restateDispatcher({ url, queue = 'libero', clock = { now: Date.now } }: RestateOptions): Dispatcher {
  async function call(verb: string, input: object): Promise<unknown> {
    const response = await fetch(`${url}/LiberoQueue/${encodeURIComponent(queue)}/${verb}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...input, now: clock.now() }),
      signal: AbortSignal.timeout(10_000), // a transaction may wait for it
    })
    if (response.ok) return response.json()
    throw new Error(`Restate answered ${verb} with ${response.status}: ${(await response.text()).slice(0, 300)}`)
  }
  const claimsOf = (jobs: readonly Job[]): number[] => jobs.map((job) => (job as ClaimedJob).claim)

  return {
    extendEveryMs: 3000,
    async wake(sessionId, { kind, tenant = '', at = 0, isUrgent = false, transaction, onFailure = () => {} }) {
      // Restate knows nothing of the transaction: the job is due a moment later, when it has committed. A transaction that takes
      // longer, or that Restate fails, costs some seconds: the reconciler finds its message.
      const dueAt = Math.max(at, clock.now() + (transaction ? 100 : 0))
      const waking = call('wake', { job: { sessionId, kind, tenant, attempt: 1, dueAt, isUrgent } })
      await (transaction ? waking.catch(onFailure) : waking)
    },
    async claim(free, { kinds, tenantLimits }) {
      if (free === 0) return []
      return (await call('claim', { free, kinds, limits: tenantLimits })) as ClaimedJob[]
    },
    async extend(jobs) {
      if (jobs.length > 0) await call('extend', { claims: claimsOf(jobs) })
    },
    async settle(jobs) {
      if (jobs.length > 0) await call('settle', { claims: claimsOf(jobs) })
    },
    stats: async () => (await call('stats', {})) as Awaited<ReturnType<NonNullable<Dispatcher['stats']>>>,
    async close() {},
  }
}
