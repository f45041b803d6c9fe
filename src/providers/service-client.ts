import type { Clock } from '../core/clock.ts'
import { memoize } from '../core/memoize.ts'
import type { ClassifiedError, ModelEvent, ModelRequest } from '../core/provider.ts'
import type { ToolSpec } from '../core/tool.ts'
import type { Message } from '../core/turn.ts'
import { defaultTransport, followRedirects, type HttpResponse, type Transport } from '../platform/http.ts'
import { BodyBook } from './body.ts'
import { type Catalogue, createCatalogue } from './catalogue.ts'
import type { RequestCredential } from './credential.ts'
import { createToolNames } from './lower-schema.ts'
import { ModelStream } from './model-stream.ts'
import { inShape } from './output-shape.ts'
import { OldThinking } from './rules/old-thinking.ts'
import { TranscriptRules } from './rules/transcript-rules.ts'
import type { Service, ServiceOptions } from './service.ts'
import { classifyServiceError } from './service-error.ts'
import type { Fields, Wire } from './wire.ts'

/** What a provider needs of its service, once that is loaded. */
export interface LazyServiceClient {
  ask(request: ModelRequest, signal: AbortSignal): AsyncIterableIterator<ModelEvent>
  classifyError(error: unknown): ClassifiedError | null
}

export interface ServiceClientParts {
  readonly service: Service
  readonly wire: Wire
  readonly options: ServiceOptions
  readonly clock: Clock
}

export function openServiceClient(parts: ServiceClientParts): LazyServiceClient {
  const line = new ServiceClient(parts)
  return {
    ask(request, signal) {
      const exchange = new ModelStream(line, request, signal)
      return request.outputSchema ? inShape(exchange, request.outputSchema) : exchange
    },
    classifyError: classifyServiceError,
  }
}

/** Everything that the requests to one service share. */
export class ServiceClient {
  readonly service: Service
  readonly wire: Wire
  readonly clock: Clock
  readonly catalogue: Catalogue | undefined
  readonly #maxReplyBytes: number | undefined
  readonly #extra: Fields | undefined
  readonly #headers: Readonly<Record<string, string>>
  readonly #transport: Transport
  readonly #names
  readonly #partners = new Map<string, Partner>()
  #last: Head | undefined
  readonly #tools

  constructor({ service, wire, options, clock }: ServiceClientParts) {
    this.service = service
    this.wire = wire
    this.clock = clock
    this.catalogue = options.prices === false ? undefined : createCatalogue(options.prices)
    this.#maxReplyBytes = options.maxReplyBytes
    this.#extra = options.extraBodyParams
    this.#headers = lowerCased(options.headers)
    const transport = options.transport ?? (options.fetch ? fetching(options.fetch) : defaultTransport())
    // What the caller adds may well be a key too, for a gateway for instance.
    const credentialHeaders = [...(service.credentialHeaders ?? []), ...Object.keys(this.#headers)]
    this.#transport = followRedirects(transport, { credentialHeaders })
    this.#names = createToolNames(wire.rules.toolName)
    this.#tools = memoize((tools: readonly ToolSpec[]): readonly ToolSpec[] => {
      const renamed = tools.map((tool) => ({ ...tool, name: this.#names.toWire(tool.name) }))
      return renamed.every(({ name }, i) => name === tools[i]!.name) ? tools : renamed
    })
  }

  /** How many bytes of a reply are read before it is given up on. */
  replyLimit({ maxTokens }: ModelRequest): number {
    if (this.#maxReplyBytes === undefined) return Math.max(mostReplyBytes, maxTokens * mostTokenBytes)
    return this.#maxReplyBytes || Number.POSITIVE_INFINITY
  }

  /** Whatever else than the credential must not be repeated: what the caller put into headers and addresses. */
  secretsFor(credential: RequestCredential | undefined): readonly string[] {
    const query = new URL(this.#baseURL(credential)).searchParams
    return [...Object.values(this.#headers), ...query.values(), ...(credential ? [credential.secret] : [])]
  }

  #baseURL(credential: RequestCredential | undefined): string {
    const { baseURL } = this.service
    return typeof baseURL === 'string' ? baseURL : baseURL(credential)
  }

  /** What is known about the conversations with one model. */
  partner(model: string): Partner {
    let partner = this.#partners.get(model)
    if (!partner) {
      const { wire } = this
      const { name } = this.service
      const toWire = (tool: string): string => this.#names.toWire(tool)
      const rules = new TranscriptRules(wire.rules, { provider: name, model, wire: wire.name, toWire })
      this.#partners.set(model, (partner = { book: new BodyBook(wire), rules, oldThinking: new OldThinking() }))
    }
    return partner
  }

  /** The request as the service takes it, as far as it is not the conversation: names of tools, the system prompt. */
  named(given: ModelRequest): ModelRequest {
    // A blank prompt is refused, and says nothing.
    const request = given.system !== '' && given.system.trim() === '' ? { ...given, system: '' } : given
    const tools = this.#tools(request.tools)
    const { toolChoice } = request
    const chosen = typeof toolChoice === 'object' ? { name: this.#names.toWire(toolChoice.name) } : toolChoice
    if (tools === request.tools && typeof toolChoice !== 'object') return request
    return { ...request, tools, ...(chosen && { toolChoice: chosen }) }
  }

  toolNamed(name: string): string {
    return this.#names.fromWire(name)
  }

  /** What the wire writes besides the conversation; from turn to turn it is mostly the same. */
  #headOf(request: ModelRequest, messages: readonly Message[]): Head {
    const { wire } = this
    const last = this.#last
    // Without tools, some services want to be told so as soon as there are calls in the conversation.
    if (last && request.tools.length > 0 && isSameHead(last.request, request)) return last
    const own = wire.fields({ ...request, messages })
    const fields = this.#extra ? combined(this.#extra, own, wire.list) : own
    // Without the messages: nothing here may keep a session alive.
    this.#last = { request: { ...request, messages: [] }, fields, lead: wire.lead?.(request) ?? none }
    return this.#last
  }

  /** Sends a conversation that the rules have made fit. */
  send(
    request: ModelRequest,
    messages: readonly Message[],
    credential: RequestCredential | undefined,
    signal: AbortSignal,
  ): Promise<HttpResponse> {
    const { service, wire } = this
    const baseURL = this.#baseURL(credential)
    const { fields: written, lead } = this.#headOf(request, messages)
    const fields = service.fields?.(written, request, credential) ?? written
    const marks = request.cache && wire.marked ? breakpoints(messages) : []
    const body = this.partner(request.model).book.build(fields, lead, messages, marks)
    return this.#transport({
      method: 'POST',
      url: addressOf(baseURL, wire.path(request)),
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        ...this.#headers,
        ...service.headers(credential, request),
      },
      body,
      signal,
    })
  }
}

/** Far more than a person reads, and little enough to be held in memory a few times over. */
const mostReplyBytes = 32 * 1024 * 1024
/** A token comes with the JSON around it, some 300 bytes at most services. */
const mostTokenBytes = 512

interface Head {
  readonly request: ModelRequest
  readonly fields: Fields
  readonly lead: readonly object[]
}

const none: readonly object[] = []

const isSameHead = (a: ModelRequest, b: ModelRequest): boolean =>
  a.tools === b.tools &&
  a.system === b.system &&
  a.model === b.model &&
  a.maxTokens === b.maxTokens &&
  a.thinking === b.thinking &&
  a.thinkingBudget === b.thinkingBudget &&
  a.toolChoice === b.toolChoice &&
  a.outputSchema === b.outputSchema &&
  a.cache === b.cache &&
  a.sessionId === b.sessionId

export interface Partner {
  readonly book: BodyBook
  readonly rules: TranscriptRules
  readonly oldThinking: OldThinking
}

/** Base URLs end with or without a slash, and may have a query that every request needs. */
function addressOf(baseURL: string, path: string): string {
  const [where = '', query] = baseURL.split('?', 2)
  const address = `${where.replace(/\/+$/, '')}${path}`
  return query ? `${address}${path.includes('?') ? '&' : '?'}${query}` : address
}

/** What the caller adds to a body, and what we say, which wins. The conversation is nothing to be added. */
function combined(extra: Fields, own: Fields, list: Wire['list']): Fields {
  const { [list]: _, ...both } = { ...extra, ...own }
  for (const name of containers)
    if (isObject(extra[name]) && isObject(own[name])) both[name] = { ...extra[name], ...own[name] }
  return both
}

/** Hold settings that have nothing to do with one another. */
const containers = ['generationConfig', 'output_config', 'text', 'stream_options'] as const

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Loaded by the first request, like the transport it stands in for. */
function fetching(fetch: typeof globalThis.fetch): Transport {
  return async (request) => (await import('../platform/http-fetch.ts')).fetchTransport(fetch)(request)
}

/**
 * The end of the newest message; and, when so much was added since the last request that a cache would not look back
 * far enough to find it again, also the end of what was the newest message then.
 */
function breakpoints(messages: readonly Message[]): readonly number[] {
  const newest = messages.length - 1
  if (newest < 0) return []
  const answer = messages.findLastIndex(({ role }) => role === 'assistant')
  if (answer <= 0) return [newest]
  let added = 0
  for (let i = answer; i <= newest; i++) added += messages[i]!.content.length
  return added > furthestLookBack ? [answer - 1, newest] : [newest]
}

/** In blocks; services look at twenty. */
const furthestLookBack = 18

const lowerCased = (headers: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
