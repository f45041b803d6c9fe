import { AgentAuthError, AgentProviderError, messageOf } from '../core/errors.ts'
import type { ModelEvent, ModelReply, ModelRequest } from '../core/provider.ts'
import { headOf } from '../core/text.ts'
import type { SessionContentBlock, TurnUsage } from '../core/turn.ts'
import { addUsage } from '../core/usage.ts'
import type { HttpResponse } from '../platform/http.ts'
import type { RequestCredential } from './credential.ts'
import type { RepairedTranscript } from './rules/transcript-rules.ts'
import type { ServiceClient } from './service-client.ts'
import { locateRefusal, maxMessageLength, readServiceError, ServiceError, scrubber } from './service-error.ts'
import { bodyChunks, ReplyReader } from './sse.ts'
import { StreamError, type WireReply } from './wire.ts'

/**
 * One model call over HTTP. Events come in batches, one for each chunk of bytes, and are returned one by one without
 * waiting in between. It is a hand-written iterator, because a generator costs three promises for each event.
 */
export class ModelStream implements AsyncIterableIterator<ModelEvent> {
  readonly #batches: AsyncGenerator<readonly ModelEvent[]>
  #batch: readonly ModelEvent[] = []
  #next = 0

  constructor(client: ServiceClient, request: ModelRequest, signal: AbortSignal) {
    this.#batches = runRequest(client, client.toWireRequest(request), signal)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  take(): ModelEvent | undefined {
    return this.#batch[this.#next++]
  }

  next(): Promise<IteratorResult<ModelEvent>> {
    if (this.#next < this.#batch.length) return Promise.resolve({ done: false, value: this.#batch[this.#next++]! })
    return this.#nextBatch()
  }

  async return(): Promise<IteratorResult<ModelEvent>> {
    this.#batch = []
    await this.#batches.return(undefined)
    return { done: true, value: undefined }
  }

  async #nextBatch(): Promise<IteratorResult<ModelEvent>> {
    for (;;) {
      const { done, value } = await this.#batches.next()
      if (done) return { done: true, value: undefined }
      if (value.length === 0) continue
      this.#batch = value
      this.#next = 1
      return { done: false, value: value[0]! }
    }
  }
}

/**
 * Usually one HTTP request. The conversation is sent again when the service paused the reply, or refused the thinking in the
 * conversation.
 */
async function* runRequest(
  client: ServiceClient,
  original: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<readonly ModelEvent[]> {
  const { rules, rejectedThinking } = client.stateOf(original.model)
  const received: PartialReply = { content: [] }
  let request = original
  let messages = request.messages
  for (let pauses = 0; ; ) {
    signal.throwIfAborted()
    const repaired = rules.repair(rejectedThinking.withoutRejected(messages), { isOpenEnded: pauses > 0 })
    if (repaired.repairs.length > 0) yield repaired.repairs.map((repair) => ({ type: 'repair', ...repair }))

    let reply: WireReply
    try {
      const accepted = yield* send(client, request, repaired, signal)
      reply = yield* readReply(client, request, accepted, signal)
    } catch (error) {
      if (received.usage) addUsageTo(error, received.usage)
      if (!isAboutThinking(error)) throw error
      // First the thinking of earlier turns is left out, because its signatures may have become invalid. If there is none, this
      // request is sent without thinking: some services refuse thinking after a call that the model made without it.
      const hadOldThinking = rejectedThinking.reject(messages)
      if (!hadOldThinking && request.thinking === 'off') throw error
      if (!hadOldThinking) request = withoutThinking(request)
      yield [hadOldThinking ? oldThinkingRemoved : thinkingTurnedOff]
      continue
    }
    const joined = joinReplies(received, await withReplyCost(client, request, reply))
    const isOver = !reply.isPaused || ++pauses > maxPauses || joined.content.some(({ type }) => type === 'tool_call')
    if (isOver) {
      yield [joined]
      return
    }
    Object.assign(received, { content: joined.content, usage: joined.usage })
    messages = [...request.messages, { role: 'assistant', content: joined.content as readonly SessionContentBlock[] }]
  }
}

function withoutThinking({ thinkingBudget: _, ...request }: ModelRequest): ModelRequest {
  return { ...request, thinking: 'off' }
}

const oldThinkingRemoved: ModelEvent = {
  type: 'repair',
  rule: 'rejected-thinking',
  message: 0,
  detail: 'the thinking of earlier turns is left out',
}

const thinkingTurnedOff: ModelEvent = {
  type: 'repair',
  rule: 'thinking-off',
  message: 0,
  detail: 'the service does not let the model think at this point',
}

const maxPauses = 20

/** The part of a reply that arrived before the service paused it. */
interface PartialReply {
  content: ModelReply['content']
  usage?: TurnUsage
}

/** Adds up usage and cost. Each part has its own cost, because the sum of the tokens could be in another price tier. */
const joinReplies = (received: PartialReply, reply: ModelReply): ModelReply => ({
  ...reply,
  content: [...received.content, ...reply.content],
  usage: received.usage ? addUsage(received.usage, reply.usage) : reply.usage,
})

/** Sends one request. A credential that the service rejects is renewed once. */
async function* send(
  client: ServiceClient,
  request: ModelRequest,
  repaired: RepairedTranscript,
  signal: AbortSignal,
): AsyncGenerator<readonly ModelEvent[], AcceptedResponse> {
  const { credentials, name } = client.service
  let credential = await withCredentialErrors(() => credentials.get(), name)
  if (credential?.isFresh) yield [refreshed(credential)]
  for (let isRenewed = false; ; isRenewed = true) {
    const scrub = scrubber(client.secretsFor(credential))
    const response = await client.send(request, repaired.messages, credential, signal)
    if (response.status >= 200 && response.status < 300) return { response, scrub }
    const error = await readServiceError(response, client.wire, {
      now: client.clock.now(),
      scrub,
      isSilent: client.service.isSilentOnOverflow,
    })
    const rejected = error.status === 401 && !isRenewed && credential
    const renewed = rejected && (await withCredentialErrors(() => credentials.renew(rejected), name))
    if (!renewed) throw locateRefusal(error, client, request, repaired)
    credential = renewed
    // Another process may have renewed the credential meanwhile, and reported the renewal itself.
    if (credential.isFresh) yield [refreshed(credential)]
  }
}

interface AcceptedResponse {
  readonly response: HttpResponse
  /** Removes the credential from a text of the service. */
  scrub(text: string): string
}

const refreshed = ({ expires }: RequestCredential): ModelEvent => ({
  type: 'oauth_refresh',
  ...(expires !== undefined && { expires }),
})

/** Turns the failure of a credential lookup into an `AgentAuthError`, or into a retryable provider error if it is temporary. */
async function withCredentialErrors<T>(get: () => T | Promise<T>, provider: string): Promise<T> {
  try {
    return await get()
  } catch (cause) {
    const { code, retryable } = (cause ?? {}) as { code?: unknown; retryable?: unknown }
    const ErrorClass = retryable === true ? AgentProviderError : AgentAuthError
    throw new ErrorClass(`Provider "${provider}": ${messageOf(cause)}`, {
      provider,
      providerCode: typeof code === 'string' ? code : 'no_credentials',
      retryable: retryable === true,
      cause,
    })
  }
}

const isAboutThinking = (error: unknown): boolean =>
  error instanceof ServiceError &&
  error.status === 400 &&
  error.refused !== undefined &&
  /thinking|thought.?signature|signature|reasoning|encrypted.content/i.test(error.message)

async function* readReply(
  client: ServiceClient,
  request: ModelRequest,
  { response, scrub }: AcceptedResponse,
  signal: AbortSignal,
): AsyncGenerator<readonly ModelEvent[], WireReply> {
  const decoder = client.wire.decoder(request)
  const reader = new ReplyReader(decoder)
  const limit = client.replyLimit(request)
  const body = bodyChunks(response, limit)[Symbol.asyncIterator]()
  let bytes = 0
  let isComplete = false
  try {
    for (;;) {
      const { done, value: chunk } = await body.next()
      signal.throwIfAborted()
      if (!done && (bytes += chunk.length) > limit) throw tooLarge(limit)
      if (done) reader.end()
      else reader.read(chunk)
      const batch = reader.takeEvents()
      const reply = takeReply(client, batch)
      isComplete = reply !== undefined
      if (batch.length > 0) yield batch
      else if (reader.isAlive) yield alive
      if (reply) return reply
      if (reader.failure) throw scrubbed(reader.failure, scrub)
    }
  } catch (error) {
    const usage = decoder.usage?.()
    if (usage && !signal.aborted) addUsageTo(error, await withCost(client, request, usage))
    throw error
  } finally {
    if (isComplete) void readToTheEnd(body, client)
    else void body.return?.().catch(() => {})
  }
}

/** An attempt that failed was paid for all the same, so its error carries what was used. */
function addUsageTo(error: unknown, usage: TurnUsage): void {
  if (!(error instanceof Error)) return
  const { usage: before } = error as { usage?: TurnUsage }
  Object.assign(error, { usage: before ? addUsage(before, usage) : usage })
}

function tooLarge(limit: number): StreamError {
  return new StreamError(
    `its reply has more than ${limit.toLocaleString('en')} bytes, so the connection was closed; if so much is expected, raise maxReplyBytes of the provider (0 = no limit)`,
    { code: 'reply_too_large', retryable: false },
  )
}

const alive: readonly ModelEvent[] = [{ type: 'alive' }]

function scrubbed(error: StreamError, scrub: (text: string) => string): StreamError {
  const { message, code, status, retryable, cause } = error
  return new StreamError(headOf(scrub(message), maxMessageLength), {
    retryable,
    ...(code !== undefined && { code: scrub(code) }),
    ...(status !== undefined && { status }),
    ...(cause !== undefined && { cause }),
  })
}

/** Reads what follows the reply, in the background: only then can the connection be used again. */
async function readToTheEnd(body: AsyncIterator<Uint8Array>, { clock }: ServiceClient): Promise<void> {
  const cancelTimer = clock.timer(maxTrailingMs, () => void body.return?.().catch(() => {}))
  try {
    while (!(await body.next()).done);
  } catch {
    // the reply was complete
  }
  cancelTimer()
}

const maxTrailingMs = 1000

/** Gives tools their own names back, and removes the reply from the end of a batch. */
function takeReply(client: ServiceClient, batch: ModelEvent[]): WireReply | undefined {
  const last = batch.at(-1)
  for (let i = 0; i < batch.length; i++) {
    const event = batch[i]!
    if (event.type === 'tool_start') batch[i] = { ...event, name: client.toolNameFromWire(event.name) }
  }
  if (last?.type !== 'reply') return undefined
  batch.pop()
  const content = last.content.map((block) =>
    block.type === 'tool_call' ? { ...block, name: client.toolNameFromWire(block.name) } : block,
  )
  return { ...last, content }
}

async function withReplyCost(client: ServiceClient, request: ModelRequest, reply: WireReply): Promise<ModelReply> {
  const { isPaused: _, cacheCreation1h, ...plain } = reply
  return { ...plain, usage: await withCost(client, request, plain.usage, cacheCreation1h) }
}

/** Adds the cost from the catalogue, unless the service itself reported a cost. An unknown cost is left out. */
async function withCost(
  { catalogue, service }: ServiceClient,
  { model }: ModelRequest,
  usage: TurnUsage,
  cacheCreation1h?: number,
): Promise<TurnUsage> {
  if (!catalogue || usage.cost !== undefined) return usage
  const counted = cacheCreation1h === undefined ? usage : { ...usage, cacheCreation1h }
  const cost = await catalogue.costOf(service.name, model, counted)
  return cost === undefined ? usage : { ...usage, cost }
}
