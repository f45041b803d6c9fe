import type { Clock } from '../../core/clock.ts'
import { messageOf, SessionNotFoundError } from '../../core/errors.ts'
import type { SessionStore, SessionSummary } from '../../core/store.ts'
import type { SessionChanges } from '../../sessions/session-changes.ts'
import { allSessions, eachSession } from '../../sessions/session-query.ts'
import type { WebhookPoster } from './post-webhook.ts'
import { type Webhook, type WebhookOptions, webhookKind, webhookPrefix } from './webhook.ts'
import { createWebhook, WebhookBook } from './webhook-book.ts'
import { WebhookDelivery } from './webhook-delivery.ts'

interface WebhooksOptions {
  readonly store: SessionStore
  readonly changes: SessionChanges
  readonly options: WebhookOptions
  readonly clock: Clock
  readonly onError: (error: Error) => void
}

/** How often webhooks are looked for that other processes made or deleted, and sessions that were missed. */
const lookEveryMs = 10_000
/** How far a sweep overlaps with the one before: an entry is stored a little after its time. */
const overlapMs = 300_000

/** All webhooks of a store. Every server of the store may deliver; the lease of a webhook decides which one does. */
export class Webhooks {
  readonly #options: WebhooksOptions
  readonly #deliveries = new Map<string, WebhookDelivery>()
  #poster: Promise<WebhookPoster> | undefined
  #looking: Promise<void> = Promise.resolve()
  #cancelTimer: (() => void) | undefined
  #unfollow: (() => void) | undefined
  #sweptAt = 0
  #isClosed = false

  constructor(options: WebhooksOptions) {
    this.#options = options
  }

  /** The address as it is used. Throws a sentence for one that is not allowed. */
  async checkUrl(url: string): Promise<string> {
    return (await this.#post()).checkUrl(url)
  }

  /** Makes a webhook, and begins to deliver. */
  async create(webhook: Webhook, tenant: string | undefined): Promise<string> {
    const id = await createWebhook(this.#options.store, webhook, { tenant, clock: this.#options.clock })
    void this.start()
    return id
  }

  /** The webhooks of a tenant, without their secrets. Without a tenant: all. */
  async list(tenant: string | undefined): Promise<readonly (Omit<Webhook, 'secret'> & { readonly id: string })[]> {
    const webhooks = []
    for (const { id } of await this.#find(tenant)) {
      const book = new WebhookBook(this.#options.store, id, this.#options.clock)
      await book.read().catch(ifThere)
      const { secret, ...webhook } = book.webhook
      if (secret !== '') webhooks.push({ id, ...webhook })
    }
    return webhooks
  }

  /** Deletes a webhook: nothing more is sent to it. False if the tenant has none of this id. */
  async remove(id: string, tenant: string | undefined): Promise<boolean> {
    if (!(await this.#find(tenant)).some((one) => one.id === id)) return false
    const delivery = this.#deliveries.get(id)
    this.#deliveries.delete(id)
    await delivery?.close()
    await this.#options.store.delete(id)
    return true
  }

  #find(tenant: string | undefined): Promise<readonly SessionSummary[]> {
    const own = tenant === undefined ? {} : { tenant }
    return allSessions(this.#options.store, { prefix: webhookPrefix, kind: webhookKind, order: 'id', ...own })
  }

  /** Delivers what is undelivered, now and whenever there is something. Resolves after the first look. */
  start(): Promise<void> {
    this.#looking = this.#looking.then(async () => {
      if (this.#isClosed || this.#options.options.deliver === false) return
      try {
        await this.#look()
      } catch (error) {
        for (const delivery of this.#deliveries.values()) delivery.isBehind = true
        this.#options.onError(
          new Error(`Webhooks could not be looked at; this is tried again: ${messageOf(error)}`, { cause: error }),
        )
      }
      this.#cancelTimer?.()
      if (!this.#isClosed) this.#cancelTimer = this.#options.clock.timer(lookEveryMs, () => void this.start())
    })
    return this.#looking
  }

  /** Stops all deliveries, which the next start, or another process, continues. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelTimer?.()
    this.#unfollow?.()
    await this.#looking
    this.#cancelTimer?.()
    this.#unfollow?.()
    await Promise.all([...this.#deliveries.values()].map((delivery) => delivery.close()))
  }

  async #look(): Promise<void> {
    const { store, clock, changes, onError } = this.#options
    const found = new Map((await this.#find(undefined)).map(({ id, tenant }) => [id, tenant]))
    for (const [id, delivery] of this.#deliveries) {
      if (found.has(id)) continue
      this.#deliveries.delete(id)
      await delivery.close()
    }
    for (const [id, tenant] of found) {
      if (this.#deliveries.has(id)) continue
      const book = new WebhookBook(store, id, clock)
      const poster = await this.#post()
      this.#deliveries.set(id, new WebhookDelivery({ book, tenant, store, poster, clock, onError }))
    }
    if (this.#deliveries.size === 0) this.#unfollow?.()
    if (this.#deliveries.size === 0) this.#unfollow = undefined
    else this.#unfollow ??= await changes.follow((summary) => this.#notice(summary))
    await this.#sweep()
  }

  #notice(summary: SessionSummary): void {
    for (const delivery of this.#deliveries.values()) void delivery.notice(summary)
  }

  /** Finds what changed while no process delivered. */
  async #sweep(): Promise<void> {
    const now = this.#options.clock.now()
    let from = Number.POSITIVE_INFINITY
    for (const delivery of this.#deliveries.values())
      from = Math.min(from, await delivery.beginSweep(this.#sweptAt - overlapMs))
    if (from === Number.POSITIVE_INFINITY) return
    for await (const summary of eachSession(this.#options.store, { limit: 100 })) {
      if (summary.updatedAt < from || this.#isClosed) break
      this.#notice(summary)
    }
    this.#sweptAt = now
    for (const delivery of this.#deliveries.values()) delivery.tidy()
  }

  /** Loaded when it is needed: most servers have no webhooks. */
  #post(): Promise<WebhookPoster> {
    const { options, clock } = this.#options
    this.#poster ??= import('./post-webhook.ts').then(({ webhookPoster }) => webhookPoster(options, clock))
    return this.#poster
  }
}

/** It may have been deleted meanwhile. */
function ifThere(error: unknown): void {
  if (!(error instanceof SessionNotFoundError)) throw error
}
