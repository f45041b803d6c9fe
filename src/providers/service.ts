import { type Clock, systemClock } from '../core/clock.ts'
import type { EventIterator, ModelEvent, ModelRequest, Provider, ProviderCapabilities } from '../core/provider.ts'
import { once } from '../core/waiting.ts'
import type { Transport } from '../platform/http.ts'
import type { Catalogue, CatalogueOverrides } from './catalogue.ts'
import type { CredentialLookup, CredentialOptions, CredentialSource, RequestCredential } from './credential.ts'
import { type RetryOptions, withRetry } from './retry.ts'
import type { ServiceClient } from './service-client.ts'
import { type WatchdogOptions, withWatchdog } from './watchdog.ts'
import type { Fields, Wire } from './wire.ts'

/** The options that every service takes. */
export interface ServiceOptions extends CredentialOptions {
  readonly baseURL?: string
  readonly defaultModel?: string
  /** Added to every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Fields that are added to the body of every request. They never replace a field that the wire or another option sets. */
  readonly extraBodyParams?: Readonly<Record<string, unknown>>
  /** Used in place of the built-in transport. */
  readonly fetch?: typeof globalThis.fetch
  readonly transport?: Transport
  /** `false`: a failed request is not sent again. */
  readonly retry?: RetryOptions | false
  readonly watchdog?: WatchdogOptions | false
  /** Prices and context windows that differ from the catalogue's; `false`: no price is looked up. */
  readonly prices?: CatalogueOverrides | false
  /** Limit for one decoded reply. Default 32 MiB, or 512 bytes for each token of `maxTokens` if that is more; 0 = no limit. */
  readonly maxReplyBytes?: number
  readonly clock?: Clock
}

/** One endpoint of a vendor: the wire that the endpoint uses, its address, credentials and quirks. */
export interface Service {
  readonly name: string
  /** A function may import the wire when the first request needs it. */
  readonly wire: Wire | (() => Promise<Wire>)
  readonly baseURL: string | ((credential: RequestCredential | undefined) => string)
  readonly defaultModel: string
  readonly capabilities: ProviderCapabilities
  readonly credentials: CredentialSource
  /** Headers besides the content type and those of `ServiceOptions.headers`. */
  headers(credential: RequestCredential | undefined, request: ModelRequest): Readonly<Record<string, string>>
  /** Changes the fields of a body after the wire and `extraBodyParams` have set them. They do not contain the conversation. */
  fields?(fields: Fields, request: ModelRequest, credential: RequestCredential | undefined): Fields
  /** If the prompt is too long, the service answers 400 without any text. */
  readonly isSilentOnOverflow?: boolean
}

/**
 * Makes a provider of a service and its wire, with `withWatchdog` and `withRetry` around it. The wire and the client are
 * loaded by the first request; if that fails, by the next one.
 */
export function createProvider(service: Service, options: ServiceOptions): Provider {
  const { clock = systemClock, retry, watchdog } = options
  let client: ServiceClient | undefined
  const load = once(async (): Promise<ServiceClient> => {
    const loadingWire = typeof service.wire === 'function' ? service.wire() : service.wire
    const [wire, { ServiceClient }] = await Promise.all([loadingWire, import('./service-client.ts')])
    client = new ServiceClient({ service, wire, options, clock })
    return client
  })
  const provider: Provider = {
    meta: { name: service.name, defaultModel: service.defaultModel, capabilities: service.capabilities },
    stream(request, signal) {
      if (client) return client.stream(request, signal)
      return new LazyStream(load().then((loaded) => loaded.stream(request, signal)))
    },
    classifyError: (error) => client?.classifyError(error) ?? null,
    ...catalogueLookups(service.name, options.prices),
  }
  const watched = watchdog === false ? provider : withWatchdog(provider, { clock, ...watchdog })
  return retry === false ? watched : withRetry(watched, { clock, ...retry })
}

/** A stream that can be returned while the code behind it is still being loaded. Afterwards each event is passed on without an extra promise. */
export class LazyStream implements AsyncIterableIterator<ModelEvent> {
  readonly #loading: Promise<EventIterator>
  #inner: EventIterator | undefined
  #isClosed = false

  constructor(loading: Promise<EventIterator>) {
    this.#loading = loading
    loading.catch(() => {}) // the first next() reports the error
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
    this.#isClosed = true
    await this.#inner?.return?.()
    return done
  }

  async #first(): Promise<IteratorResult<ModelEvent>> {
    this.#inner = await this.#loading
    return this.#isClosed ? done : this.#inner.next()
  }
}

const done = { done: true, value: undefined } as const

/**
 * The functions of a provider that look up prices and context windows in a catalogue. The catalogue is loaded by the first call of
 * either function; if that fails, by the next one. The client has a catalogue of its own; both catalogues read the same price list, which is loaded once.
 */
export function catalogueLookups(
  provider: string,
  prices: CatalogueOverrides | false | undefined,
): Required<Pick<Provider, 'costOf' | 'contextWindow'>> {
  let catalogue: Catalogue | undefined
  const load = once(async (): Promise<Catalogue> => {
    const { createCatalogue } = await import('./catalogue.ts')
    catalogue = createCatalogue(prices === false ? { prices } : prices)
    return catalogue
  })
  return {
    costOf(model, usage) {
      if (catalogue) return catalogue.costOf(provider, model, usage)
      return load().then((loaded) => loaded.costOf(provider, model, usage))
    },
    async contextWindow(model) {
      const info = await (await load()).modelInfo(provider, model)
      return info?.contextWindow
    },
  }
}

/** Where to look for the credential of a service, and the `fetch` and clock with which it is renewed. */
export function lookupFor(name: string, env: readonly string[], { fetch, clock }: ServiceOptions): CredentialLookup {
  return { name, env, ...(fetch && { fetch }), ...(clock && { clock }) }
}
