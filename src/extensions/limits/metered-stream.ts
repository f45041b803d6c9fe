import { orCancelled, waitCancelledMarker } from '../../core/cancellation.ts'
import { type AgentBudgetError, AgentProviderError } from '../../core/errors.ts'
import type { LimitState } from '../../core/feature-hooks.ts'
import type { EventIterator, ModelEvent, ModelReply, ModelRequest, Provider } from '../../core/provider.ts'
import type { Run } from '../../core/run.ts'
import { toolOutputByteLength } from '../../core/tool-output.ts'
import type { TurnUsage } from '../../core/turn.ts'
import { normalizeUsage, promptUsageOf, recordUsage } from '../../core/usage.ts'
import type { Account, Reservation } from './account.ts'
import { type Estimator, roughTokens, smallestThinking, streamedTokens, thinkingTokens } from './estimate.ts'
import { type Amounts, amountsOf, billionths, priceNow, type Quote, quoteFor } from './meter.ts'
import { type RequestState, type RunTally, stateOwner } from './tally.ts'

/** Shared by all requests of one run. */
export interface Metering {
  readonly run: Run
  /** The provider that is metered. */
  readonly provider: Provider
  readonly account: Account
  readonly estimator: Estimator
  readonly tally: RunTally
  /** Makes the error for a request that does not fit. */
  refuse(state: LimitState, why: string): AgentBudgetError
  /** Called after a reply, with the limit that cut it short, if any. */
  replied(cutBy: LimitState | undefined): void
}

/**
 * One request: the most that it may use is reserved before it is sent, and its real usage is counted however it ends. An
 * iterator written by hand, so that a delta costs no promise.
 */
export class MeteredStream implements AsyncIterableIterator<ModelEvent> {
  readonly #metering: Metering
  readonly #signal: AbortSignal
  #request: ModelRequest
  #inner: EventIterator | undefined
  #input = 0
  #quote: Quote | undefined
  #reservation: Reservation | undefined
  #unlisten = nothing
  /** Log writes that must end before the next attempt is sent. */
  #writing: Promise<unknown> | undefined
  #isAccepted = false
  #isHidden = false
  #bytes = 0
  /** The usage that the service reported when it accepted the request. */
  #counted: TurnUsage | undefined

  constructor(metering: Metering, request: ModelRequest, signal: AbortSignal) {
    this.#metering = metering
    this.#request = request
    this.#signal = signal
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  take(): ModelEvent | undefined {
    if (this.#writing) return undefined
    const event = this.#inner?.take?.()
    return event === undefined ? undefined : this.#see(event)
  }

  async next(): Promise<IteratorResult<ModelEvent>> {
    try {
      if (this.#writing) await this.#writing
      this.#writing = undefined
      const inner = this.#inner ?? (await this.#begin())
      const { done, value } = await inner.next()
      if (!done) return { done: false, value: this.#see(value) }
    } catch (error) {
      this.#fail(error)
      throw error
    }
    this.#end('failed attempt')
    return over
  }

  async return(): Promise<IteratorResult<ModelEvent>> {
    this.#end('failed attempt')
    await this.#inner?.return?.()
    return over
  }

  async #begin(): Promise<EventIterator> {
    const { run, provider, estimator } = this.#metering
    const request = this.#request
    this.#input = estimator.inputTokens(request)
    this.#quote = await quoteFor(provider, request, this.#input)
    if (!this.#quote) this.#checkPrice()
    if (!isFinal(request)) this.#reserveForAnswer()
    this.#reservation = await this.#reserve()
    this.#unlisten = run.cancellation.onCancel(() => this.#end('aborted attempt'))
    // After a crash, the reservation counts as used.
    const { amounts, output } = this.#reservation
    if (run.session) await run.log.append(requestState({ reserved: amounts }))
    if (run.cancellation.isCancelled) throw run.cancellation.reason
    this.#request = withOutput(request, output)
    this.#inner = provider.stream(this.#request, this.#signal)[Symbol.asyncIterator]()
    return this.#inner
  }

  /** The final answer reads the same conversation and a little more, with other tools, so it is estimated again. */
  #reserveForAnswer(): void {
    const { base, perToken } = this.#quote ?? { base: 0, perToken: 0 }
    const input = Math.max(this.#input, roughTokens(this.#request)) * growth
    const answerOf = (output: number): Omit<Amounts, 'turns'> => ({
      tokens: Math.ceil(input) + output,
      cost: billionths((base * input) / this.#input + perToken * output),
    })
    const whole = answerOf(Math.min(this.#request.maxTokens, answerTokens))
    this.#metering.account.own?.reserve(whole, answerOf(leastOutput(this.#request)))
  }

  #checkPrice(): void {
    const { account, provider } = this.#metering
    const isLimited = account.meters.some(({ limits }) => limits.cost !== undefined && !limits.allowUnknownPrice)
    if (!isLimited) return
    const { name } = provider.meta
    const { model } = this.#request
    throw new AgentProviderError(
      `behavior.limits.cost cannot be kept: the price of "${model}" of provider "${name}" is not known. Give its price ` +
        `to the provider, as in prices: { models: { "${model}": { input: 3, output: 15 } } } (dollars per million ` +
        'tokens), or set behavior.limits.allowUnknownPrice to count only what has a price',
      { provider: name, providerCode: 'unknown_price', retryable: false },
    )
  }

  /** Other runs may release their reservations: waits for them before the request is cut or refused. */
  async #reserve(): Promise<Reservation> {
    const { run, account } = this.#metering
    const output = this.#request.maxTokens + thinkingTokens(this.#request)
    const least = leastOutput(this.#request)
    const wanted = {
      input: this.#input,
      output,
      leastOutput: least,
      quote: this.#quote,
      isFinal: isFinal(this.#request),
    }
    for (;;) {
      if (run.cancellation.isCancelled) throw run.cancellation.reason
      const most = account.mostOutput(wanted)
      const mayWait = account.mayGetMore && most >= least
      const granted = account.reserve({ ...wanted, leastOutput: mayWait ? most : least })
      if ('amounts' in granted) return granted
      if (!mayWait) {
        const reserve = granted.reserved
          ? `, beside ${granted.reserved} kept for the final answer (limits.reserve)`
          : ''
        throw this.#metering.refuse(granted.refused, `the next request may need ${granted.needs}${reserve}`)
      }
      try {
        await orCancelled(account.change(), run.cancellation)
      } catch (error) {
        throw error === waitCancelledMarker ? run.cancellation.reason : error
      }
    }
  }

  #see(event: ModelEvent): ModelEvent {
    switch (event?.type) {
      case 'text':
      case 'thinking':
      case 'tool_args':
        if (typeof event.delta === 'string') this.#bytes += toolOutputByteLength(event.delta)
        this.#isAccepted = true
        return event
      case 'alive':
        this.#isHidden = true
        this.#isAccepted = true
        return event
      case 'start':
        this.#isAccepted = true
        this.#counted = promptUsageOf(event.usage, this.#request.model)
        return event
      case 'retry':
        this.#retry()
        return event
      case 'reply':
        return this.#reply(event)
      default:
        return event
    }
  }

  /** The next attempt keeps the reservation; the usage of the failed one is counted in addition. */
  #retry(): void {
    const { run, account, tally } = this.#metering
    const usage = this.#reservation && this.#usageWithoutReply(this.#reservation)
    this.#isAccepted = this.#isHidden = false
    this.#bytes = 0
    this.#counted = undefined
    if (!usage || !this.#reservation) return
    const exceeded = account.countFailed(amountsOf(usage, 0))
    tally.failed.push({ usage, model: this.#request.model })
    const { amounts } = this.#reservation
    const written: unknown[] = [recordUsage(run, '', 'failed attempt', usage)]
    // The reservation is logged again, because the usage entry ends it.
    if (run.session) written.push(run.log.append(requestState({ reserved: amounts })))
    this.#writing = this.#track(Promise.all(written))
    if (!exceeded) return
    this.#end('failed attempt')
    void this.#inner?.return?.().then(undefined, nothing)
    throw this.#metering.refuse(exceeded, 'there is nothing left for another attempt')
  }

  /** The reply with its price, if known: the log records what was counted. */
  #reply(reply: ModelReply): ModelReply {
    const reservation = this.#reservation
    if (!reservation) return reply
    const { account, estimator, tally, replied } = this.#metering
    this.#close()
    replied(reply.stop === 'length' ? reservation.cutBy : undefined)
    const usage = this.#usageOf(reply)
    account.release(reservation, amountsOf(usage, 1))
    tally.replies.push({ usage, model: this.#request.model })
    const { input, cacheRead = 0, cacheCreation = 0 } = usage
    estimator.learn(this.#request, input + cacheRead + cacheCreation)
    return { ...reply, usage }
  }

  /** The usage of a reply, estimated if the service did not report it. */
  #usageOf({ usage: reported, content }: ModelReply): TurnUsage {
    const usage = normalizeUsage(reported, this.#request.model)
    const { input, output, cacheRead = 0, cacheCreation = 0 } = usage
    if (input + cacheRead + cacheCreation > 0) return this.#priced(usage)
    const bytes = Math.max(this.#bytes, JSON.stringify(content)?.length ?? 0)
    return this.#priced({ ...usage, input: this.#input, output: output > 0 ? output : streamedTokens(bytes) })
  }

  #fail(error: unknown): void {
    const { usage } = (error ?? {}) as { usage?: unknown }
    const isTold = typeof usage === 'object' && usage !== null
    // Logged here, and removed so that it is not logged again.
    if (isTold) Reflect.set(error as object, 'usage', undefined)
    this.#end('failed attempt', isTold ? usage : undefined)
  }

  /** The request ends without a reply. Counted at once, because a cancelled run does not wait for its requests. */
  #end(cause: 'failed attempt' | 'aborted attempt', reported?: object): void {
    const reservation = this.#reservation
    if (!reservation) return
    const { run, account, tally } = this.#metering
    // It is unknown whether the service accepted a cancelled request.
    if (cause === 'aborted attempt') this.#isAccepted = true
    const usage = reported
      ? this.#priced(normalizeUsage(reported, this.#request.model))
      : this.#usageWithoutReply(reservation)
    this.#close()
    account.release(reservation, usage ? amountsOf(usage, 0) : none)
    if (usage) tally.failed.push({ usage, model: this.#request.model })
    if (usage) this.#track(recordUsage(run, '', cause, usage))
    else if (run.session) this.#track(Promise.resolve(run.log.append(requestState({ reserved: null }))))
  }

  #close(): void {
    this.#reservation = undefined
    this.#unlisten()
  }

  /** The estimated usage of an attempt without a reply. */
  #usageWithoutReply({ output: most }: Reservation): TurnUsage | undefined {
    if (!this.#inner || !this.#isAccepted) return undefined
    // Work that was not streamed may have used the whole output.
    const output = this.#isHidden ? most : Math.min(most, streamedTokens(this.#bytes))
    if (this.#counted) return this.#priced({ ...this.#counted, output })
    const worst = this.#worst(output)
    return { input: this.#input, output, model: this.#request.model, ...(worst !== undefined && { cost: worst }) }
  }

  #worst(output: number): number | undefined {
    return this.#quote && this.#quote.base + this.#quote.perToken * output
  }

  #priced(usage: TurnUsage): TurnUsage {
    if (usage.cost !== undefined) return usage
    const cost = priceNow(this.#metering.provider, this.#request.model, usage) ?? this.#worst(usage.output)
    return cost === undefined ? usage : { ...usage, cost }
  }

  /** The run ends only after this is written. A failure shows at the next append of the run itself. */
  #track(work: Promise<unknown>): Promise<unknown> {
    const { pending } = this.#metering.run.progress
    const written = work.catch(nothing).finally(() => pending.delete(written))
    pending.add(written)
    return written
  }
}

/** Only the final answer of a run is requested with a schema. */
const isFinal = ({ outputSchema }: ModelRequest): boolean => outputSchema !== undefined

/** The output that is reserved for a final answer. */
const answerTokens = 1024
/** The expected growth of the conversation until the final answer. */
const growth = 1.25

const nothing = (): void => {}
const over = { done: true, value: undefined } as const
const none = { cost: 0, tokens: 0, turns: 0 }

const requestState = (value: RequestState) => ({ type: 'state', owner: stateOwner, value }) as const

/** The request with less output; answer and thinking are reduced in proportion. */
function withOutput(request: ModelRequest, output: number): ModelRequest {
  const thinking = thinkingTokens(request)
  const wanted = request.maxTokens + thinking
  if (output >= wanted) return request
  if (thinking === 0) return { ...request, maxTokens: output }
  const share = Math.floor((output * thinking) / wanted)
  const thinkingBudget = Math.max(smallestThinking, Math.min(share, output - leastAnswer(request)))
  return { ...request, maxTokens: output - thinkingBudget, thinkingBudget }
}

/** With less output than this a request is not worth sending. */
const leastOutput = (request: ModelRequest): number =>
  leastAnswer(request) + Math.min(thinkingTokens(request), smallestThinking)

const leastAnswer = ({ maxTokens }: ModelRequest): number => Math.min(maxTokens, 256)
