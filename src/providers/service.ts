import { type Clock, systemClock } from '../core/clock.ts'
import type { EventIterator, ModelEvent, ModelRequest, Provider, ProviderCapabilities } from '../core/provider.ts'
import type { Transport } from '../platform/http.ts'
import type { Catalogue, CatalogueOverrides } from './catalogue.ts'
import type { CredentialOptions, CredentialPlace, CredentialSource, RequestCredential } from './credential.ts'
import { type RetryOptions, withRetry } from './retry.ts'
import type { LazyServiceClient } from './service-client.ts'
import { type WatchdogOptions, withWatchdog } from './watchdog.ts'
import type { Fields, Wire } from './wire.ts'

/** What every service takes. */
export interface ServiceOptions extends CredentialOptions {
  readonly baseURL?: string
  readonly defaultModel?: string
  /** Added to every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Added to every body. What an option of its own says wins. */
  readonly extraBodyParams?: Readonly<Record<string, unknown>>
  /** Used in place of the built-in transport. */
  readonly fetch?: typeof globalThis.fetch
  readonly transport?: Transport
  /** `false`: a failure is a failure. */
  readonly retry?: RetryOptions | false
  readonly watchdog?: WatchdogOptions | false
  /** Prices and windows that differ from the catalogue's; `false`: no price is looked up. */
  readonly prices?: CatalogueOverrides | false
  /** Of one reply, decoded. Default 32 MiB, or 512 bytes for each token that may be answered if that is more; 0 = no limit. */
  readonly maxReplyBytes?: number
  readonly clock?: Clock
}

/** Where a wire is spoken: address, credentials and quirks. */
export interface Service {
  readonly name: string
  /** Best as a function that imports it: it is not needed before the first request. */
  readonly wire: Wire | (() => Promise<Wire>)
  readonly baseURL: string | ((credential: RequestCredential | undefined) => string)
  readonly defaultModel: string
  readonly capabilities: ProviderCapabilities
  readonly credentials: CredentialSource
  /** Besides the content type and what the caller adds. */
  headers(credential: RequestCredential | undefined, request: ModelRequest): Readonly<Record<string, string>>
  /** The last word on the fields of a body; the conversation itself is the wire's. */
  fields?(fields: Fields, request: ModelRequest, credential: RequestCredential | undefined): Fields
  /** Refuses a prompt that is too long with a bare 400. */
  readonly isSilentOnOverflow?: boolean
  /** Headers that go to no other origin, besides the usual ones. */
  readonly credentialHeaders?: readonly string[]
}

/**
 * A wire and a service make a provider, with patience (`retry`) and impatience (`watchdog`) around it. Whatever speaks
 * is loaded by the first request.
 */
export function createProvider(service: Service, options: ServiceOptions): Provider {
  const { clock = systemClock, retry, watchdog } = options
  let open: LazyServiceClient | undefined
  let opening: Promise<LazyServiceClient> | undefined
  const load = async (): Promise<LazyServiceClient> => {
    const loading = typeof service.wire === 'function' ? service.wire() : service.wire
    const [wire, { openServiceClient }] = await Promise.all([loading, import('./service-client.ts')])
    open = openServiceClient({ service, wire, options, clock })
    return open
  }
  const provider: Provider = {
    meta: { name: service.name, defaultModel: service.defaultModel, capabilities: service.capabilities },
    stream(request, signal) {
      if (open) return open.ask(request, signal)
      opening ??= load().catch((error) => {
        opening = undefined // the next request tries again
        throw error
      })
      return new LazyStream(opening.then((line) => line.ask(request, signal)))
    },
    classifyError: (error) => open?.classifyError(error) ?? null,
    ...priceList(service.name, options.prices),
  }
  const watched = watchdog === false ? provider : withWatchdog(provider, { clock, ...watchdog })
  return retry === false ? watched : withRetry(watched, { clock, ...retry })
}

/** Where the credential of a service is kept, and with what it is renewed. */
export function placeFor(name: string, env: readonly string[], { fetch, clock }: ServiceOptions): CredentialPlace {
  return { name, env, ...(fetch && { fetch }), ...(clock && { clock }) }
}

/** A stream that is still to come; once it is there, it costs nothing to have waited. */
export class LazyStream implements AsyncIterableIterator<ModelEvent> {
  readonly #coming: Promise<EventIterator>
  #inner: EventIterator | undefined
  #isLeft = false

  constructor(coming: Promise<EventIterator>) {
    this.#coming = coming
    coming.catch(() => {}) // whoever waits for the first event hears of it
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  take(): ModelEvent | undefined {
    return this.#inner?.take?.()
  }

  next(): Promise<IteratorResult<ModelEvent>> {
    return this.#inner ? this.#inner.next() : this.#first()
  }

  async return(): Promise<IteratorResult<ModelEvent>> {
    this.#isLeft = true
    await this.#inner?.return?.()
    return over
  }

  async #first(): Promise<IteratorResult<ModelEvent>> {
    this.#inner = await this.#coming
    return this.#isLeft ? over : this.#inner.next()
  }
}

const over = { done: true, value: undefined } as const

/** What a provider says about its models before it is asked anything: their prices and windows, loaded by the first question. */
export function priceList(
  provider: string,
  prices: CatalogueOverrides | false | undefined,
): Required<Pick<Provider, 'costOf' | 'contextWindow'>> {
  let catalogue: Catalogue | undefined
  let loading: Promise<Catalogue> | undefined
  const load = async (): Promise<Catalogue> => {
    const { createCatalogue } = await import('./catalogue.ts')
    catalogue = createCatalogue(prices === false ? { prices } : prices)
    return catalogue
  }
  return {
    costOf(model, usage) {
      if (catalogue) return catalogue.costOf(provider, model, usage)
      loading ??= load()
      return loading.then((loaded) => loaded.costOf(provider, model, usage))
    },
    async contextWindow(model) {
      loading ??= load()
      return (await (await loading).modelInfo(provider, model))?.contextWindow
    },
  }
}
