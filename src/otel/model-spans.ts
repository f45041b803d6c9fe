import type { Attributes, Context, Span } from '@opentelemetry/api'
import type { AroundModel, AroundOutcomes } from '../core/around.ts'
import type { HookContexts } from '../core/hook-map.ts'
import { spanKind } from './api.ts'
import { contentOf, messagesOf, partOf } from './content.ts'
import * as names from './names.ts'
import { type Failure, failureOf, markFailed, type Telemetry } from './telemetry.ts'

type Reply = AroundOutcomes['model']
type Retry = Omit<HookContexts['stream:retry'], 'turnId'>

/** The spans of one model call: one for each attempt. */
export class ModelSpans {
  /** The span of the present attempt, whichever that is: requests over HTTP are inside it. */
  readonly active: Span
  readonly #telemetry: Telemetry
  readonly #call: AroundModel
  readonly #parent: Context
  readonly #attributes: Attributes
  /** Those of measurements: few values each. */
  readonly #dimensions: Attributes
  #span: Span
  /** When the present attempt began, or will after a pause. */
  #begunAt = performance.now()
  #lastChunkAt: number | undefined

  constructor(telemetry: Telemetry, call: AroundModel, parent: Context) {
    this.#telemetry = telemetry
    this.#call = call
    this.#parent = parent
    this.#dimensions = {
      [names.operation]: 'chat',
      ...telemetry.provider(call.provider),
      [names.requestModel]: call.model,
    }
    const { run, cause, request } = call
    this.#attributes = {
      ...this.#dimensions,
      [names.requestMaxTokens]: request.maxTokens,
      [names.requestStream]: true,
      ...(request.outputSchema && { [names.outputType]: 'json' }),
      ...(cause !== undefined && { [names.modelCause]: cause }),
      ...(run.sessionId !== undefined && { [names.conversationId]: run.sessionId }),
      ...(telemetry.capturesContent && this.#input()),
    }
    this.#span = this.#start({ [names.attempt]: call.attempt })
    this.active = new Proxy(this.#span, {
      get: (_, name) => {
        const value: unknown = Reflect.get(this.#span, name)
        return typeof value === 'function' ? value.bind(this.#span) : value
      },
    })
  }

  /** The present attempt failed, and another one begins, perhaps after a pause. */
  retry({ attempt, reason, code = names.otherError, delayMs = 0 }: Retry): void {
    this.#end({ type: code, message: reason })
    const pause = delayMs > 0 && { [names.delay]: delayMs }
    this.#span = this.#start({ [names.attempt]: attempt, ...pause }, delayMs > 0 ? Date.now() + delayMs : undefined)
    this.#begunAt = performance.now() + delayMs
    this.#lastChunkAt = undefined
  }

  /** A piece of the reply arrived. */
  chunk(): void {
    const { firstChunk, chunk } = this.#telemetry.instruments
    const now = performance.now()
    if (this.#lastChunkAt !== undefined) chunk.record((now - this.#lastChunkAt) / 1000, this.#dimensions)
    else {
      const seconds = (now - this.#begunAt) / 1000
      firstChunk.record(seconds, this.#dimensions)
      this.#span.setAttribute(names.timeToFirstChunk, seconds)
    }
    this.#lastChunkAt = now
  }

  done({ usage, stop, content, responseId }: Reply): void {
    const { capturesContent, redactor, instruments } = this.#telemetry
    const input = allInput(usage)
    const reason = names.finishReason(stop)
    const parts = (): object[] => (content as Parameters<typeof partOf>[0][]).map(partOf)
    this.#span.setAttributes({
      [names.responseModel]: usage.model ?? this.#call.model,
      [names.finishReasons]: [reason],
      [names.inputTokens]: input,
      [names.outputTokens]: usage.output,
      ...(responseId !== undefined && { [names.responseId]: responseId }),
      ...(usage.reasoning !== undefined && { [names.reasoningTokens]: usage.reasoning }),
      ...(usage.cacheRead !== undefined && { [names.cacheReadTokens]: usage.cacheRead }),
      ...(usage.cacheCreation !== undefined && { [names.cacheCreationTokens]: usage.cacheCreation }),
      ...(usage.cost !== undefined && { [names.cost]: usage.cost }),
      ...(capturesContent && {
        [names.outputMessages]: contentOf(redactor, [{ role: 'assistant', parts: parts(), finish_reason: reason }]),
      }),
    })
    instruments.tokens.record(input, { ...this.#dimensions, [names.tokenType]: 'input' })
    instruments.tokens.record(usage.output, { ...this.#dimensions, [names.tokenType]: 'output' })
    this.#end()
  }

  failed(error: unknown): void {
    this.#end(failureOf(error))
  }

  #start(attributes: Attributes, startTime?: number): Span {
    return this.#telemetry.tracer.startSpan(
      `chat ${this.#call.model}`,
      {
        kind: spanKind.client,
        attributes: { ...this.#attributes, ...attributes },
        ...(startTime !== undefined && { startTime }),
      },
      this.#parent,
    )
  }

  /** Ends the present attempt. One that was cancelled in the pause before it has no duration. */
  #end(failure?: Failure): void {
    const elapsed = performance.now() - this.#begunAt
    if (failure) markFailed(this.#telemetry, this.#span, failure)
    if (elapsed >= 0) {
      const failed = failure && { [names.errorType]: failure.type }
      this.#telemetry.instruments.model.record(elapsed / 1000, { ...this.#dimensions, ...failed })
      this.#span.end()
    } else this.#span.end(Date.now() - elapsed)
  }

  #input(): Attributes {
    const { redactor } = this.#telemetry
    const { system, messages } = this.#call.request
    return {
      [names.systemInstructions]: contentOf(redactor, [{ type: 'text', content: system }]),
      [names.inputMessages]: messagesOf(redactor, messages),
    }
  }
}

/** The conventions count the tokens of the cache as input. */
const allInput = ({ input, cacheRead = 0, cacheCreation = 0 }: Reply['usage']): number =>
  input + cacheRead + cacheCreation
