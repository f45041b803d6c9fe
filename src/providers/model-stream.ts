import { AgentAuthError, AgentProviderError, messageOf } from '../core/errors.ts'
import type { ModelEvent, ModelReply, ModelRequest } from '../core/provider.ts'
import type { SessionContentBlock, TurnUsage } from '../core/turn.ts'
import { addUsage } from '../core/usage.ts'
import type { HttpResponse } from '../platform/http.ts'
import type { RequestCredential } from './credential.ts'
import type { FittedTranscript } from './rules/transcript-rules.ts'
import type { ServiceClient } from './service-client.ts'
import { located, longestMessage, readServiceError, ServiceError, scrubber } from './service-error.ts'
import { cut, eventsOf, ReplyReader } from './sse.ts'
import { StreamError, type WireReply } from './wire.ts'

/**
 * One model call over HTTP. Events come in batches, one for each chunk of bytes, and are handed out one by one without
 * waiting in between: a plain iterator, because a generator costs three promises for each of them.
 */
export class ModelStream implements AsyncIterableIterator<ModelEvent> {
  readonly #batches: AsyncGenerator<readonly ModelEvent[]>
  #batch: readonly ModelEvent[] = []
  #at = 0

  constructor(line: ServiceClient, request: ModelRequest, signal: AbortSignal) {
    this.#batches = converse(line, line.named(request), signal)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  take(): ModelEvent | undefined {
    return this.#batch[this.#at++]
  }

  next(): Promise<IteratorResult<ModelEvent>> {
    if (this.#at < this.#batch.length) return Promise.resolve({ done: false, value: this.#batch[this.#at++]! })
    return this.#more()
  }

  async return(): Promise<IteratorResult<ModelEvent>> {
    this.#batch = []
    await this.#batches.return(undefined)
    return { done: true, value: undefined }
  }

  async #more(): Promise<IteratorResult<ModelEvent>> {
    for (;;) {
      const { done, value } = await this.#batches.next()
      if (done) return { done: true, value: undefined }
      if (value.length === 0) continue
      this.#batch = value
      this.#at = 1
      return { done: false, value: value[0]! }
    }
  }
}

/** Usually one request; more where a credential has to be renewed, or where the service pauses or takes offence. */
async function* converse(
  line: ServiceClient,
  given: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<readonly ModelEvent[]> {
  const { rules, oldThinking } = line.partner(given.model)
  const said: Said = { content: [] }
  let request = given
  let messages = request.messages
  for (let pauses = 0; ; ) {
    signal.throwIfAborted()
    const fitted = rules.fit(oldThinking.shown(messages), { isOpenEnded: pauses > 0 })
    if (fitted.repairs.length > 0) yield fitted.repairs.map((repair) => ({ type: 'repair', ...repair }))

    let reply: WireReply
    try {
      const answer = yield* send(line, request, fitted, signal)
      reply = yield* read(line, request, answer, signal)
    } catch (error) {
      if (said.usage) bill(error, said.usage)
      if (!isAboutThinking(error)) throw error
      // Signatures that fit no longer spoil every further request; without them the conversation is still whole.
      const isLess = oldThinking.reject(messages)
      // Thinking may go on after a call that was made with it, but not begin there.
      if (!isLess && request.thinking === 'off') throw error
      if (!isLess) request = withoutThinking(request)
      yield [isLess ? rejectedThinking : thinkingOff]
      continue
    }
    const whole = together(said, await priced(line, request, reply))
    const isOver = !reply.isPaused || ++pauses > mostPauses || whole.content.some(({ type }) => type === 'tool_call')
    if (isOver) {
      yield [whole]
      return
    }
    Object.assign(said, { content: whole.content, usage: whole.usage })
    messages = [...request.messages, { role: 'assistant', content: whole.content as readonly SessionContentBlock[] }]
  }
}

function withoutThinking({ thinkingBudget: _, ...request }: ModelRequest): ModelRequest {
  return { ...request, thinking: 'off' }
}

const rejectedThinking: ModelEvent = {
  type: 'repair',
  rule: 'rejected-thinking',
  message: 0,
  detail: 'the thinking of earlier turns is left out',
}

const thinkingOff: ModelEvent = {
  type: 'repair',
  rule: 'thinking-off',
  message: 0,
  detail: 'the service does not let the model think at this point',
}

const mostPauses = 20

interface Said {
  content: ModelReply['content']
  usage?: TurnUsage
}

/** Each part has its own price: a sum would fall into another tier. */
const together = (said: Said, reply: ModelReply): ModelReply => ({
  ...reply,
  content: [...said.content, ...reply.content],
  usage: said.usage ? addUsage(said.usage, reply.usage) : reply.usage,
})

/** A credential that is not accepted is renewed once. */
async function* send(
  line: ServiceClient,
  request: ModelRequest,
  fitted: FittedTranscript,
  signal: AbortSignal,
): AsyncGenerator<readonly ModelEvent[], Answer> {
  const { credentials, name } = line.service
  let credential = await orFail(() => credentials.get(), name)
  if (credential?.isFresh) yield [refreshed(credential)]
  for (let isRenewed = false; ; isRenewed = true) {
    const scrub = scrubber(line.secretsFor(credential))
    const response = await line.send(request, fitted.messages, credential, signal)
    if (response.status >= 200 && response.status < 300) return { response, scrub }
    const error = await readServiceError(response, line.wire, {
      now: line.clock.now(),
      scrub,
      isSilent: line.service.isSilentOnOverflow,
    })
    const rejected = error.status === 401 && !isRenewed && credential
    const renewed = rejected && (await orFail(() => credentials.renew(rejected), name))
    if (!renewed) throw located(error, line, request, fitted)
    credential = renewed
    // Somebody else may have renewed it meanwhile, and told so.
    if (credential.isFresh) yield [refreshed(credential)]
  }
}

interface Answer {
  readonly response: HttpResponse
  /** Takes the credential out of whatever the service says. */
  scrub(text: string): string
}

const refreshed = ({ expires }: RequestCredential): ModelEvent => ({
  type: 'oauth_refresh',
  ...(expires !== undefined && { expires }),
})

/** Whether to log in again or to try again later is what a caller wants to know. */
async function orFail<T>(get: () => T | Promise<T>, provider: string): Promise<T> {
  try {
    return await get()
  } catch (cause) {
    const { code, retryable } = (cause ?? {}) as { code?: unknown; retryable?: unknown }
    const Failure = retryable === true ? AgentProviderError : AgentAuthError
    throw new Failure(`Provider "${provider}": ${messageOf(cause)}`, {
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

async function* read(
  line: ServiceClient,
  request: ModelRequest,
  { response, scrub }: Answer,
  signal: AbortSignal,
): AsyncGenerator<readonly ModelEvent[], WireReply> {
  const decoder = line.wire.decoder(request)
  const reader = new ReplyReader(decoder)
  const limit = line.replyLimit(request)
  const body = eventsOf(response, limit)[Symbol.asyncIterator]()
  let bytes = 0
  let isWhole = false
  try {
    for (;;) {
      const { done, value: chunk } = await body.next()
      signal.throwIfAborted()
      if (!done && (bytes += chunk.length) > limit) throw tooLarge(limit)
      if (done) reader.end()
      else reader.read(chunk)
      const batch = reader.takeEvents()
      const reply = settle(line, batch)
      isWhole = reply !== undefined
      if (batch.length > 0) yield batch
      else if (reader.isAlive) yield alive
      if (reply) return reply
      if (reader.failure) throw scrubbed(reader.failure, scrub)
    }
  } catch (error) {
    const usage = decoder.usage?.()
    if (usage && !signal.aborted) bill(error, await withCost(line, request, usage))
    throw error
  } finally {
    if (isWhole) void readToTheEnd(body, line)
    else void body.return?.().catch(() => {})
  }
}

/** An attempt that failed, or a part of an answer that nobody will get, was paid for: whoever hears of it can count it. */
function bill(error: unknown, usage: TurnUsage): void {
  if (!(error instanceof Error)) return
  const { usage: before } = error as { usage?: TurnUsage }
  Object.assign(error, { usage: before ? addUsage(before, usage) : usage })
}

function tooLarge(limit: number): StreamError {
  return new StreamError(
    `its reply has more than ${limit} bytes, so the connection was closed; if so much is expected, raise maxReplyBytes of the provider (0 = no limit)`,
    { code: 'reply_too_large', retryable: false },
  )
}

const alive: readonly ModelEvent[] = [{ type: 'alive' }]

function scrubbed(error: StreamError, scrub: (text: string) => string): StreamError {
  const { message, code, status, retryable, cause } = error
  return new StreamError(cut(scrub(message), longestMessage), {
    retryable,
    ...(code !== undefined && { code: scrub(code) }),
    ...(status !== undefined && { status }),
    ...(cause !== undefined && { cause }),
  })
}

/** A connection can be used again only when its last answer was read to the end, which is near. Nobody waits for it. */
async function readToTheEnd(body: AsyncIterator<Uint8Array>, { clock }: ServiceClient): Promise<void> {
  const callOff = clock.timer(longestEnd, () => void body.return?.().catch(() => {}))
  try {
    while (!(await body.next()).done);
  } catch {
    // the reply was whole
  }
  callOff()
}

const longestEnd = 1000

/** Gives tools their own names back, and takes the reply out of a batch. */
function settle(line: ServiceClient, batch: ModelEvent[]): WireReply | undefined {
  const last = batch.at(-1)
  for (let i = 0; i < batch.length; i++) {
    const event = batch[i]!
    if (event.type === 'tool_start') batch[i] = { ...event, name: line.toolNamed(event.name) }
  }
  if (last?.type !== 'reply') return undefined
  batch.pop()
  const content = last.content.map((block) =>
    block.type === 'tool_call' ? { ...block, name: line.toolNamed(block.name) } : block,
  )
  return { ...last, content }
}

async function priced(line: ServiceClient, request: ModelRequest, reply: WireReply): Promise<ModelReply> {
  const { isPaused: _, cacheCreation1h, ...plain } = reply
  return { ...plain, usage: await withCost(line, request, plain.usage, cacheCreation1h) }
}

/** What a service says it costs beats our own reckoning; what nobody knows stays unknown. */
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
