import { SessionNotFoundError } from '../core/errors.ts'
import type { SessionStore, SessionSummary } from '../core/store.ts'
import type { WebhookPoster } from '../server/webhooks/post-webhook.ts'
import { isWebhookId, type WebhookOptions, webhookKind, webhookPrefix } from '../server/webhooks/webhook.ts'
import { WebhookBook } from '../server/webhooks/webhook-book.ts'
import { WebhookDelivery } from '../server/webhooks/webhook-delivery.ts'
import { eachDescendant } from '../sessions/family.ts'
import { allSessions, eachSession } from '../sessions/session-query.ts'
import type { FleetWork, FleetWorkContext } from './fleet-work.ts'

const kind = 'libero.webhook'
/** The job that looks for events without a job. All others are `<webhook>/<session>`. */
const sweepId = webhookPrefix.slice(0, -1)
const sweepEveryMs = 60_000
/** How far a sweep overlaps with the one before: an entry is stored a little after its time. */
const overlapMs = 300_000
/** How often the list of webhooks is read. */
const listEveryMs = 10_000
/** How long what is known of a webhook stays in memory without work. */
const idleMs = 60_000

interface OpenWebhook {
  readonly book: WebhookBook
  readonly delivery: WebhookDelivery
  usedAt: number
}

interface WorkerState {
  readonly open: Map<string, OpenWebhook>
  /** The webhooks, with their tenants. */
  known: readonly Pick<SessionSummary, 'id' | 'tenant'>[]
  listedAt: number
  sweepWokenAt: number
  sweptAt: number
}

/**
 * Deliveries to webhooks as jobs of a fleet: a worker that has worked on a session wakes a job for each webhook of its tenant,
 * and any worker delivers. Events whose job was lost are found by one sweep a minute, over the whole fleet. No worker follows
 * sessions, and nothing waits in memory for a receiver that fails.
 */
export function webhookJobs(options: Omit<WebhookOptions, 'deliver'> = {}): FleetWork {
  const workers = new Map<string, WorkerState>()
  let poster: Promise<WebhookPoster> | undefined

  function of(worker: string): WorkerState {
    const never = Number.NEGATIVE_INFINITY
    const state = workers.get(worker) ?? {
      open: new Map(),
      known: [],
      listedAt: never,
      sweepWokenAt: never,
      sweptAt: 0,
    }
    workers.set(worker, state)
    return state
  }

  async function list(state: WorkerState, { store, clock }: FleetWorkContext): Promise<WorkerState['known']> {
    if (clock.now() - state.listedAt < listEveryMs) return state.known
    state.listedAt = clock.now()
    state.known = await allSessions(store, { prefix: webhookPrefix, kind: webhookKind, order: 'id' })
    return state.known
  }

  const wake = (id: string, { dispatcher }: FleetWorkContext, at?: number): Promise<void> => {
    const [tenant = ''] = id.split('/') // so that a slow receiver uses up no runs of a tenant
    return dispatcher.wake(id, { kind, tenant, ...(at !== undefined && { at }) })
  }

  async function open(id: string, context: FleetWorkContext): Promise<OpenWebhook | undefined> {
    const { worker, store, clock, onError, signal } = context
    const state = of(worker)
    poster ??= import('../server/webhooks/post-webhook.ts').then(({ webhookPoster }) => webhookPoster(options, clock))
    const post = await poster
    const summary = await store.find(id)
    if (!summary || signal.aborted) return undefined
    const known = state.open.get(id)
    const book = known?.book ?? new WebhookBook(store, id, clock)
    await book.read()
    const later = ({ id: session }: SessionSummary, ms: number): void =>
      void wake(`${id}/${session}`, context, clock.now() + ms).catch((cause) =>
        onError(new Error(`Webhook "${id}" could not be woken; the next sweep finds its event`, { cause })),
      )
    const { tenant } = summary
    const make = (): OpenWebhook => {
      const delivery = new WebhookDelivery({ book, tenant, store, poster: post, clock, onError, later })
      return { book, delivery, usedAt: 0 }
    }
    const opened = state.open.get(id) ?? make()
    opened.usedAt = clock.now()
    state.open.set(id, opened)
    return opened
  }

  async function deliver(webhook: string, session: string, context: FleetWorkContext): Promise<void> {
    const opened = await open(webhook, context)
    if (!opened) return
    const notices: Promise<void>[] = []
    for await (const summary of withDescendants(context.store, session)) notices.push(opened.delivery.notice(summary))
    await Promise.all(notices)
  }

  /** Finds events without a job: what changed since this process last looked, and at first all that may be undelivered. */
  async function sweep(context: FleetWorkContext): Promise<void> {
    const { store, clock, signal, worker } = context
    const state = of(worker)
    const now = clock.now()
    const opened: OpenWebhook[] = []
    let from = Number.POSITIVE_INFINITY
    for (const { id } of await list(state, context)) {
      const one = await ifThere(open(id, context))
      if (!one) continue
      opened.push(one)
      from = Math.min(from, await one.delivery.beginSweep(state.sweptAt - overlapMs))
    }
    if (opened.length === 0) return
    const notices: Promise<void>[] = []
    for await (const summary of eachSession(store, { limit: 100 })) {
      if (summary.updatedAt < from || signal.aborted) break
      for (const { delivery } of opened) notices.push(delivery.notice(summary))
    }
    await Promise.all(notices)
    state.sweptAt = now
    for (const { delivery } of opened) delivery.tidy()
    if (!signal.aborted) await wake(sweepId, context, clock.now() + sweepEveryMs)
  }

  return {
    kind,
    owns: (sessionId) => sessionId === sweepId || isWebhookId(sessionId),

    async work({ sessionId: id }, context) {
      const slash = id.indexOf('/')
      if (slash < 0) await sweep(context)
      else await ifThere(deliver(id.slice(0, slash), id.slice(slash + 1), context))
      if (context.signal.aborted) await wake(id, context) // it may have been left in the middle
    },

    async worked({ id, tenant }, context) {
      if (id.startsWith('libero.')) return
      for (const webhook of await list(of(context.worker), context))
        if (webhook.tenant === undefined || webhook.tenant === tenant) await wake(`${webhook.id}/${id}`, context)
    },

    async reconcile(context) {
      const { worker, clock } = context
      const state = of(worker)
      const now = clock.now()
      for (const [id, { delivery, usedAt }] of state.open)
        if (!delivery.isBusy && now - usedAt > idleMs) state.open.delete(id)
      const before = new Set(state.known.map(({ id }) => id))
      const webhooks = await list(state, context)
      const hasNew = webhooks.some(({ id }) => !before.has(id)) // events may have come since it was made
      if (webhooks.length === 0 || (!hasNew && now - state.sweepWokenAt < sweepEveryMs)) return
      state.sweepWokenAt = now
      await wake(sweepId, context, hasNew ? now : now + sweepEveryMs)
    },

    async stop({ worker }) {
      const open = [...(workers.get(worker)?.open.values() ?? [])]
      workers.delete(worker)
      await Promise.all(open.map(({ delivery }) => delivery.close()))
    },
  }
}

/** A session and its sub-agents, which ask for approvals of their own. */
async function* withDescendants(store: SessionStore, id: string): AsyncGenerator<SessionSummary> {
  const summary = await store.find(id)
  if (!summary) return
  yield summary
  for await (const child of eachDescendant(store, id)) yield child
}

/** The webhook may have been deleted meanwhile. */
async function ifThere<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work
  } catch (error) {
    if (error instanceof SessionNotFoundError) return undefined
    throw error
  }
}
