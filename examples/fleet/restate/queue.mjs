// The queue of a fleet as a virtual object of Restate. Start it beside the Restate server, and register it once:
//   npm install @restatedev/restate-sdk && node queue.mjs 9080
//   curl localhost:9070/deployments --json '{"uri": "http://localhost:9080"}'
// Restate runs the calls of an object one at a time and keeps its state, so a job is claimed once and limits are exact.
import { object, serve } from '@restatedev/restate-sdk'

/** A claim that is not kept for so long lapses. */
const lapseMs = 10_000

const empty = { count: 0, waiting: [], claimed: [] }

const verbs = {
  /** Several wakes of a session are one job, at the earliest of their times. */
  wake(jobs, { job }) {
    const before = jobs.waiting.find(({ sessionId }) => sessionId === job.sessionId)
    if (!before) jobs.waiting.push({ ...job, place: ++jobs.count })
    else if (job.dueAt < before.dueAt) Object.assign(before, job)
    else before.isUrgent ||= job.isUrgent
  },

  claim(jobs, { free, kinds, limits, now }) {
    lapse(jobs, now)
    const held = new Set(jobs.claimed.map(({ sessionId }) => sessionId))
    const counts = new Map()
    const count = (tenant, by) => counts.set(tenant, (counts.get(tenant) ?? 0) + by)
    for (const { tenant } of jobs.claimed) count(tenant, 1)
    const found = []
    for (const job of jobs.waiting.toSorted(inOrder)) {
      const { sessionId, tenant, dueAt, kind } = job
      const limit = limits[tenant] ?? limits.default ?? Number.POSITIVE_INFINITY
      if (found.length >= free) break
      if (dueAt > now || !kinds.includes(kind) || held.has(sessionId) || (counts.get(tenant) ?? 0) >= limit) continue
      count(tenant, 1)
      found.push(job)
    }
    jobs.waiting = jobs.waiting.filter((job) => !found.includes(job))
    const claimed = found.map(({ place, isUrgent, ...job }) => ({ ...job, claim: ++jobs.count, keptAt: now }))
    jobs.claimed.push(...claimed)
    return claimed
  },

  extend(jobs, { claims, now }) {
    for (const claimed of jobs.claimed) if (claims.includes(claimed.claim)) claimed.keptAt = now
  },

  settle(jobs, { claims }) {
    jobs.claimed = jobs.claimed.filter(({ claim }) => !claims.includes(claim))
  },

  stats(jobs, { now }) {
    const due = jobs.waiting.filter(({ dueAt }) => dueAt <= now)
    const times = due.map(({ dueAt }) => dueAt)
    const oldest = times.length > 0 && { oldestDueAt: Math.min(...times) }
    return { waiting: due.length, claimed: jobs.claimed.length, later: jobs.waiting.length - due.length, ...oldest }
  },
}

const inOrder = (a, b) => Number(b.isUrgent) - Number(a.isUrgent) || a.dueAt - b.dueAt || a.place - b.place

/** Jobs whose worker did not keep its claim wait again. */
function lapse(jobs, now) {
  const lapsed = jobs.claimed.filter(({ keptAt }) => now - keptAt >= lapseMs)
  jobs.claimed = jobs.claimed.filter((job) => !lapsed.includes(job))
  for (const { claim, keptAt, attempt, ...job } of lapsed) {
    jobs.waiting = jobs.waiting.filter(({ sessionId }) => sessionId !== job.sessionId)
    jobs.waiting.push({ ...job, attempt: attempt + 1, isUrgent: true, place: claim })
  }
}

const handlers = Object.entries(verbs).map(([name, verb]) => {
  const handler = async (ctx, input) => {
    const jobs = (await ctx.get('jobs')) ?? structuredClone(empty)
    const result = verb(jobs, input)
    ctx.set('jobs', jobs)
    return result ?? null
  }
  return [name, handler]
})

await serve({
  services: [object({ name: 'LiberoQueue', handlers: Object.fromEntries(handlers) })],
  port: Number(process.argv[2]),
})
