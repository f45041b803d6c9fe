import { show } from '../core/behavior.ts'
import { systemClock } from '../core/clock.ts'
import { SessionBusyError, SessionNotFoundError } from '../core/errors.ts'
import type { InboxItem } from '../core/log.ts'
import { parseMeta } from '../core/meta.ts'
import { parsePrompt } from '../core/run-options.ts'
import type { PendingAnswer, SessionStatus, SessionStore, SessionSummary } from '../core/store.ts'
import { sleep } from '../core/waiting.ts'
import { leaseHolderOf } from '../sessions/family.ts'
import { isInterrupted } from '../sessions/needs-run.ts'
import { openCalls } from '../sessions/open-calls.ts'
import { loadSession, openSession } from '../sessions/session.ts'
import { eachSession } from '../sessions/session-query.ts'
import { type DelayedSend, delayedSends, storeDelayed, UndeliverableError } from './delayed-sends.ts'
import type { WakeOptions } from './dispatcher.ts'
import type { Fleet, FleetMessage, FleetOptions, FleetPending, FleetStatus, WorkerInfo, WorkOptions } from './fleet.ts'
import { providerLimits } from './provider-limits.ts'
import { failureOf, sendAndWake } from './send-and-wake.ts'
import { stopSession } from './stop-session.ts'
import { webhookJobs } from './webhook-jobs.ts'
import { FleetWorker } from './worker.ts'
import { workerDirectory } from './worker-directory.ts'
import { agentKinds, workflowAgents } from './workflow-agents.ts'

/** Runs sessions on any number of workers, in this process and others that use the same store and the same queue. */
export function createFleet(
  options: FleetOptions & Required<Pick<FleetOptions, 'workflow'>>,
): Fleet & Required<Pick<Fleet, 'workflow'>>
export function createFleet(options: FleetOptions): Fleet
export function createFleet(options: FleetOptions): Fleet {
  checkOptions(options)
  const { store, dispatcher, kinds, limits = {}, clock = systemClock, version = '' } = options
  const onError = reportTo(options.onError ?? ((error) => console.error(`libero: ${error.message}`, error.cause ?? '')))
  const directory = workerDirectory(store, clock)
  const providers = providerLimits({ store, clock, ...(limits.providers && { limits: limits.providers }) })
  const { limited } = providers
  const agents = options.workflow && workflowAgents(options.workflow, { store, dispatcher, clock, onError, limited })
  const own = [delayedSends(deliver), webhookJobs(options.webhooks), ...(agents ? [agents] : [])]
  const works = [...own, ...(options.works ?? [])]
  const sendNow = sendAndWake(store, dispatcher, reportUnwoken)
  const workers = new Set<FleetWorker>()
  const sent = new Map<string, Named & { readonly at: number }>()

  const kindOf = ({ id, kind }: Pick<SessionSummary, 'id' | 'kind'>): string | undefined =>
    works.find((work) => work.owns(id, kind))?.kind ?? kind

  const wakeOf = (summary: Named): WakeOptions => ({
    kind: kindOf(summary) ?? '',
    ...(summary.tenant !== undefined && { tenant: summary.tenant }),
  })

  function reportUnwoken(id: string, cause: unknown): void {
    onError(new Error(`Session "${id}" could not be woken; the reconciler finds it`, { cause }))
  }

  /** Wakes a session for something that is stored already: if its queue cannot be reached, the reconciler finds it later. */
  async function wakeOrReport(id: string, options: WakeOptions): Promise<void> {
    const failure = await failureOf(dispatcher.wake(id, options))
    if (failure) reportUnwoken(id, failure)
  }

  /** A session that was just sent to is not looked up again: it keeps its kind and its tenant. */
  async function deliver(send: DelayedSend): Promise<void> {
    const { sessionId: id } = send
    const known = sent.get(id)
    const now = clock.now()
    try {
      if (known && now - known.at < sentMs && !differing(known, send)) return await deliverTo(send, known)
    } catch (error) {
      if (!(error instanceof SessionNotFoundError)) throw error // it was deleted
    }
    const found = await findOrMake(store, send)
    if (sent.size >= maxSent) sent.clear()
    sent.set(id, { ...pick(found), id, at: now })
    await deliverTo(send, found)
  }

  const deliverTo = ({ sessionId: id, item }: DelayedSend, summary: Named): Promise<void> =>
    sendNow({ id, item, wake: wakeOf(summary) })

  async function wakeRoot(sessionId: string, wake = wakeOrReport): Promise<void> {
    const root = (await leaseHolderOf(store, sessionId))?.holder ?? sessionId // it continues the calls of its sub-agents
    const summary = await store.find(root)
    if (summary) await wake(root, wakeOf(summary))
  }

  return {
    ...{ store, dispatcher, kinds: Object.keys(kinds) },
    ...(options.authorityFor && { authorityFor: options.authorityFor }),
    ...(agents && { workflow: agents.workflow }),

    async send(sessionId, message) {
      const { kind, tenant, at = 0 } = message
      if (!(Math.abs(at) <= maxTime))
        throw new TypeError(`A message takes its time "at" in milliseconds since 1970, got ${show(at)}`)
      const item = itemOf(message)
      const target = { ...(kind !== undefined && { kind }), ...(tenant !== undefined && { tenant }) }
      const send: DelayedSend = { sessionId, ...target, item, at }
      if (at <= clock.now()) await deliver(send)
      else {
        await findChecked(store, send)
        const id = await storeDelayed(store, send)
        await wakeOrReport(id, { kind: kindOf({ id })!, at })
      }
      return item.clientKey
    },

    async answer(sessionId, callId, answer) {
      const session = await loadSession(store, sessionId)
      const needsSignature = session.pending.some((call) => call.callId === callId && call.signature)
      if (answer.decision === 'allow' && needsSignature && answer.mac === undefined && options.authorityFor)
        await (await options.authorityFor(await tenantOf(store, sessionId))).answer(session, callId, signable(answer))
      else await session.answer(callId, answer)
      await wakeRoot(sessionId)
    },

    wake: (sessionId) => wakeRoot(sessionId, (id, options) => dispatcher.wake(id, options)),

    async stop(sessionId) {
      await stopSession(store, sessionId, clock)
    },

    async *pending({ tenant } = {}) {
      const own = tenant !== undefined && { tenant }
      for await (const { id: root, ...summary } of eachSession(store, {
        status: 'waiting',
        parent: null,
        limit: 100,
        ...own,
      })) {
        const calls = await openCalls(store, root).catch((error: unknown) => {
          if (error instanceof SessionNotFoundError) return [] // deleted meanwhile
          throw error
        })
        for (const call of calls) yield { ...call, root, ...named(summary) }
      }
    },

    work(workOptions: WorkOptions = {}) {
      checkWork(workOptions, kinds)
      const parts = { store, dispatcher, kinds, clock, onError, limits, works, version, directory, limited, kindOf }
      const wake = (summary: SessionSummary): Promise<void> =>
        dispatcher.wake(summary.id, { ...wakeOf(summary), isUrgent: isInterrupted(summary) })
      const worker = new FleetWorker({ ...parts, wake, options: workOptions, onClosed: () => workers.delete(worker) })
      workers.add(worker)
      return worker
    },

    async status(): Promise<FleetStatus> {
      const counted = statuses.map(async (status) => [status, await countRoots(store, status)] as const)
      const [alive, jobs, keys] = await Promise.all([directory.list(), dispatcher.stats?.(), providers.status()])
      const sessions = Object.fromEntries(await Promise.all(counted)) as FleetStatus['sessions']
      return { workers: alive.map(withoutKey), sessions, ...(jobs && { jobs }), limits, providers: keys }
    },

    async close() {
      try {
        await Promise.all([...workers].map((worker) => worker.close()))
        await agents?.close()
      } finally {
        await dispatcher.close()
        await store.close?.()
      }
    },
  }
}

/** An error of the host's own function must not end a worker. */
const reportTo =
  (report: (error: Error) => void): ((error: Error) => void) =>
  (error) => {
    try {
      report(error)
    } catch (failure) {
      console.error('libero: onError of the fleet has failed', failure, 'It was called with', error)
    }
  }

/** The key in its address is for servers, which read it from the directory. */
function withoutKey({ address, ...worker }: WorkerInfo): WorkerInfo {
  return address === undefined ? worker : { ...worker, address: URL.parse(address)?.origin ?? '' }
}

/** The last time that a `Date` can have. */
const maxTime = 8.64e15

type Named = Pick<SessionSummary, 'id' | 'kind' | 'tenant'>

/** How long, and of how many sessions, their kind and tenant are remembered. */
const sentMs = 60_000
const maxSent = 10_000

const statuses: readonly Exclude<SessionStatus, 'idle'>[] = ['working', 'waiting', 'interrupted', 'failed', 'parked']

const maxCounted = 1000
const maxCountedPages = 5

/** Not by `parent: null`: a store with an index of statuses would read all other sessions instead. */
async function countRoots(store: SessionStore, status: SessionStatus): Promise<number> {
  let count = 0
  let cursor: string | undefined
  for (let pages = 0; pages < maxCountedPages && count < maxCounted; pages++) {
    const page = await store.list({ status, limit: maxCounted, ...(cursor !== undefined && { cursor }) })
    count += page.sessions.filter(({ parent }) => parent === undefined).length
    cursor = page.next
    if (cursor === undefined) break
  }
  return Math.min(count, maxCounted)
}

/** How often a session is tried to be made that another process is just making. */
const maxTries = 100

async function findOrMake(store: SessionStore, send: DelayedSend): Promise<SessionSummary> {
  const { sessionId, kind = '', tenant } = send
  for (let tries = 1; ; tries++) {
    const summary = await findChecked(store, send)
    if (summary) return summary
    try {
      await (await openSession(store, sessionId, { kind, ...(tenant !== undefined && { tenant }) })).save()
    } catch (error) {
      if (!(error instanceof SessionBusyError) || tries === maxTries) throw error
      await sleep(20) // another process is just making it
    }
  }
}

/** The session, if it exists. Throws if it cannot get this message. */
async function findChecked(store: SessionStore, send: DelayedSend): Promise<SessionSummary | undefined> {
  const { sessionId, kind } = send
  const summary = await store.find(sessionId)
  if (!summary && kind === undefined)
    throw new UndeliverableError(
      `There is no session "${sessionId}"; send its first message with the kind of agent it is for`,
    )
  const name = summary && differing(summary, send)
  if (!name) return summary
  throw new UndeliverableError(
    `Session "${summary.id}" has the ${name} ${show(summary[name])}, which a message cannot change; it named ${show(send[name])}`,
  )
}

/** What a message names that the session does not have. */
const differing = (session: Named, send: DelayedSend): 'kind' | 'tenant' | undefined =>
  (['kind', 'tenant'] as const).find((name) => send[name] !== undefined && send[name] !== session[name])

function itemOf({ prompt, clientKey = crypto.randomUUID(), mode = 'followUp', meta }: FleetMessage): InboxItem {
  if (mode !== 'followUp' && mode !== 'steer')
    throw new TypeError(`The mode of a message must be "followUp" or "steer", got ${show(mode)}`)
  const content = parsePrompt(prompt)
  if (!content) throw new TypeError('There is no message; pass a prompt as a text or a list of parts')
  const checked = parseMeta(meta, 'the meta of a message')
  return { clientKey, mode, content, ...(checked && { meta: checked }) }
}

async function tenantOf(store: SessionStore, sessionId: string): Promise<string | undefined> {
  const { holder = sessionId } = (await leaseHolderOf(store, sessionId)) ?? {}
  return (await store.find(holder))?.tenant
}

/** An answer as an authority takes it: its content is a note for the model. */
function signable({ decision, content, by, scope, where, edits, rule }: PendingAnswer) {
  if (content !== undefined && typeof content !== 'string')
    throw new TypeError('The content of a signed answer must be a text')
  return {
    decision: decision!,
    ...(by !== undefined && { by }),
    ...(content !== undefined && { note: content }),
    ...{ ...(scope && { scope }), ...(where && { where }), ...(edits && { edits }), ...(rule && { rule }) },
  }
}

const named = ({ title, ...summary }: Omit<SessionSummary, 'id'>): Pick<FleetPending, 'title' | 'tenant' | 'kind'> => ({
  ...(title !== undefined && { title }),
  ...pick(summary),
})

const pick = ({ kind, tenant }: Pick<SessionSummary, 'kind' | 'tenant'>): Pick<SessionSummary, 'kind' | 'tenant'> => ({
  ...(kind !== undefined && { kind }),
  ...(tenant !== undefined && { tenant }),
})

function checkOptions({ store, dispatcher, kinds, limits = {}, workflow }: FleetOptions): void {
  if (typeof store?.append !== 'function')
    throw new TypeError(`createFleet needs a store such as createPostgresStore({ url }), got ${show(store)}`)
  if (typeof dispatcher?.claim !== 'function')
    throw new TypeError(`createFleet needs a dispatcher such as inProcessDispatcher(), got ${show(dispatcher)}`)
  for (const [tenant, limit] of Object.entries(limits.tenants ?? {})) {
    const least = tenant === 'default' ? 1 : 0 // a default of 0 would stop all work; a tenant may be stopped by its name
    if (!(Number.isInteger(limit) || limit === Number.POSITIVE_INFINITY) || limit < least)
      throw new TypeError(
        `limits.tenants["${tenant}"] of createFleet must be a whole number of runs, at least ${least}, got ${show(limit)}`,
      )
  }
  for (const [name, open] of Object.entries(kinds ?? {})) {
    if (name.startsWith('libero.') || (workflow && agentKinds.has(name)))
      throw new TypeError(`The kind "${name}" of createFleet is one of Libero's own; choose another name`)
    if (typeof open !== 'function')
      throw new TypeError(
        `The kind "${name}" of createFleet must be a function that returns an agent, got ${show(open)}`,
      )
  }
}

function checkWork({ concurrency = 1, kinds = [] }: WorkOptions, known: FleetOptions['kinds']): void {
  for (const kind of kinds)
    if (!Object.hasOwn(known, kind))
      throw new TypeError(
        `fleet.work cannot take the kind ${show(kind)}; the fleet has ${Object.keys(known).join(', ')}`,
      )
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new TypeError(`fleet.work takes concurrency as a whole number of at least 1, got ${show(concurrency)}`)
}
