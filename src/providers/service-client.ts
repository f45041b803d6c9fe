import type { Clock } from '../core/clock.ts'
import { isRecord } from '../core/is-record.ts'
import { memoize } from '../core/memoize.ts'
import type { ClassifiedError, ModelEvent, ModelRequest } from '../core/provider.ts'
import type { ToolSpec } from '../core/tool.ts'
import type { Message } from '../core/turn.ts'
import {
  defaultTransport,
  fetchTransport,
  followRedirects,
  type HttpResponse,
  type Transport,
} from '../platform/http.ts'
import { BodyBuilder } from './body.ts'
import { type Catalogue, createCatalogue } from './catalogue.ts'
import type { RequestCredential } from './credential.ts'
import { ModelStream } from './model-stream.ts'
import { withoutStrictNulls } from './output-shape.ts'
import { RejectedThinking } from './rules/rejected-thinking.ts'
import { TranscriptRules } from './rules/transcript-rules.ts'
import { createToolNames } from './safe-names.ts'
import type { Service, ServiceOptions } from './service.ts'
import { classifyServiceError } from './service-error.ts'
import type { Fields, Wire } from './wire.ts'

interface ServiceClientParts {
  readonly service: Service
  readonly wire: Wire
  readonly options: ServiceOptions
  readonly clock: Clock
}

/** Sends the requests of one provider to its service, and holds what these requests share. */
export class ServiceClient {
  readonly service: Service
  readonly wire: Wire
  readonly clock: Clock
  readonly catalogue: Catalogue | undefined
  readonly #maxReplyBytes: number | undefined
  readonly #extraFields: Fields | undefined
  readonly #headers: Readonly<Record<string, string>>
  readonly #transport: Transport
  readonly #names
  readonly #states = new Map<string, PerModelState>()
  #lastHead: BodyHead | undefined
  readonly #tools

  constructor({ service, wire, options, clock }: ServiceClientParts) {
    this.service = service
    this.wire = wire
    this.clock = clock
    this.catalogue = options.prices === false ? undefined : createCatalogue(options.prices)
    this.#maxReplyBytes = options.maxReplyBytes
    this.#extraFields = options.extraBodyParams
    this.#headers = lowerCased(options.headers)
    const transport = options.transport ?? (options.fetch ? fetchTransport(options.fetch) : defaultTransport())
    this.#transport = followRedirects(transport)
    this.#names = createToolNames(wire.rules.toolName)
    this.#tools = memoize((tools: readonly ToolSpec[]): readonly ToolSpec[] => {
      const renamed = tools.map((tool) => ({ ...tool, name: this.#names.toWire(tool.name) }))
      return renamed.every(({ name }, i) => name === tools[i]!.name) ? tools : renamed
    })
  }

  stream(request: ModelRequest, signal: AbortSignal): AsyncIterableIterator<ModelEvent> {
    const stream = new ModelStream(this, request, signal)
    return request.outputSchema ? withoutStrictNulls(stream, request.outputSchema) : stream
  }

  classifyError(error: unknown): ClassifiedError | null {
    return classifyServiceError(error)
  }

  /** How many bytes of a reply are read before the request fails. */
  replyLimit({ maxTokens }: ModelRequest): number {
    if (this.#maxReplyBytes === undefined) return Math.max(minReplyLimit, maxTokens * maxBytesPerToken)
    return this.#maxReplyBytes || Number.POSITIVE_INFINITY
  }

  /** What no error message may contain: the credential, and the values that the caller put into headers and the address. */
  secretsFor(credential: RequestCredential | undefined): readonly string[] {
    const query = new URL(this.#baseURL(credential)).searchParams
    return [...Object.values(this.#headers), ...query.values(), ...(credential ? [credential.secret] : [])]
  }

  #baseURL(credential: RequestCredential | undefined): string {
    const { baseURL } = this.service
    return typeof baseURL === 'string' ? baseURL : baseURL(credential)
  }

  /** The caches of the conversations with one model. */
  stateOf(model: string): PerModelState {
    let state = this.#states.get(model)
    if (!state) {
      const { wire } = this
      const toWire = (tool: string): string => this.#names.toWire(tool)
      const rules = new TranscriptRules(wire.rules, { provider: this.service.name, model, wire: wire.name, toWire })
      state = { bodies: new BodyBuilder(wire), rules, rejectedThinking: new RejectedThinking() }
      this.#states.set(model, state)
    }
    return state
  }

  /** The request with tool names that the service accepts, and without a blank system prompt. */
  toWireRequest(original: ModelRequest): ModelRequest {
    // Services refuse a blank system prompt.
    const request = original.system !== '' && original.system.trim() === '' ? { ...original, system: '' } : original
    const tools = this.#tools(request.tools)
    const { toolChoice } = request
    const chosen = typeof toolChoice === 'object' ? { name: this.#names.toWire(toolChoice.name) } : toolChoice
    if (tools === request.tools && typeof toolChoice !== 'object') return request
    return { ...request, tools, ...(chosen && { toolChoice: chosen }) }
  }

  toolNameFromWire(name: string): string {
    return this.#names.fromWire(name)
  }

  /** The part of the body that the wire writes besides the conversation. The last such part is cached: it seldom changes between turns. */
  #headOf(request: ModelRequest, messages: readonly Message[]): BodyHead {
    const { wire } = this
    const last = this.#lastHead
    // Without tools the fields depend on the messages too: some services need `tools: []` once the conversation has calls.
    if (last && request.tools.length > 0 && isSameHead(last.request, request)) return last
    const wireFields = wire.fields({ ...request, messages })
    const extra = this.#extraFields
    const fields = extra ? withExtraFields(extra, wireFields, wire.conversationField) : wireFields
    // Without the messages, so that this cache keeps no session alive.
    this.#lastHead = {
      request: { ...request, messages: [] },
      fields,
      leadingItems: wire.leadingItems?.(request) ?? none,
    }
    return this.#lastHead
  }

  /** Sends a conversation that the rules have repaired. */
  send(
    request: ModelRequest,
    messages: readonly Message[],
    credential: RequestCredential | undefined,
    signal: AbortSignal,
  ): Promise<HttpResponse> {
    const { service, wire } = this
    const baseURL = this.#baseURL(credential)
    const { fields: headFields, leadingItems } = this.#headOf(request, messages)
    const fields = service.fields?.(headFields, request, credential) ?? headFields
    const cacheBreakpoints = request.cache && wire.withCacheBreakpoint ? breakpoints(messages) : []
    const body = this.stateOf(request.model).bodies.build(fields, leadingItems, messages, cacheBreakpoints)
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

/** Enough for any reply that is read by a person, and little enough to be held in memory several times. */
const minReplyLimit = 32 * 1024 * 1024
/** A token arrives with the JSON around it: some 300 bytes at most services. */
const maxBytesPerToken = 512

/** The part of a body that is not the conversation, and the request for which this part was written. */
interface BodyHead {
  readonly request: ModelRequest
  readonly fields: Fields
  readonly leadingItems: readonly object[]
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

/** What is cached for the conversations with one model: serialized messages, repairs, and thinking that the service refused. */
export interface PerModelState {
  readonly bodies: BodyBuilder
  readonly rules: TranscriptRules
  readonly rejectedThinking: RejectedThinking
}

/** A base URL may end with a slash, and may have a query that every request needs. */
function addressOf(baseURL: string, path: string): string {
  const [withoutQuery = '', query] = baseURL.split('?', 2)
  const address = `${withoutQuery.replace(/\/+$/, '')}${path}`
  return query ? `${address}${path.includes('?') ? '&' : '?'}${query}` : address
}

/** Merges the caller's `extraBodyParams` with the fields of the wire. The wire's win; the conversation cannot be replaced. */
function withExtraFields(extra: Fields, wireFields: Fields, conversationField: Wire['conversationField']): Fields {
  const { [conversationField]: _, ...both } = { ...extra, ...wireFields }
  for (const name of mergedFields)
    if (isRecord(extra[name]) && isRecord(wireFields[name])) both[name] = { ...extra[name], ...wireFields[name] }
  return both
}

/** Objects whose settings are independent of each other, so they are merged field by field. */
const mergedFields = ['generationConfig', 'output_config', 'text', 'stream_options'] as const

/**
 * The messages that get a cache breakpoint: the newest one and, if many blocks were added since the previous request, the last
 * message of that request. A service searches only a limited number of blocks backwards for a cached prefix.
 */
function breakpoints(messages: readonly Message[]): readonly number[] {
  const newest = messages.length - 1
  if (newest < 0) return []
  const lastReply = messages.findLastIndex(({ role }) => role === 'assistant')
  if (lastReply <= 0) return [newest]
  let added = 0
  for (let i = lastReply; i <= newest; i++) added += messages[i]!.content.length
  return added > lookBackBlocks ? [lastReply - 1, newest] : [newest]
}

/** Stays below the twenty blocks that services search backwards. */
const lookBackBlocks = 18

const lowerCased = (headers: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
