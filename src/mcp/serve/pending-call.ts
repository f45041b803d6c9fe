import type { InteractionResponse } from '../../core/interaction.ts'
import type { CallAnswer } from './call-answer.ts'
import { answerIn, type Form, formOf } from './elicitation.ts'
import { createMcpToken } from './http-guard.ts'
import type { ClientQuestion } from './served-agents.ts'

/** What a call may use while it runs. */
export interface CallChannel {
  readonly signal: AbortSignal
  progress(text: string): void
  ask(question: ClientQuestion): Promise<InteractionResponse>
}

/** Identifies a call by its tool and arguments. */
const callKey = (name: string, args: unknown): string => JSON.stringify([name, args])

interface OpenQuestion extends ClientQuestion {
  readonly form: Form
  answer(response: InteractionResponse): void
}

/**
 * A call that keeps running while its client's user is asked something. The client then sends the same request again, and
 * finds the call by the state it was given: several requests may come before there is a result.
 */
export class PendingCall {
  readonly key: string
  readonly #stopping = new AbortController()
  readonly #result: Promise<CallAnswer>
  #question: OpenQuestion | undefined
  #asked = Promise.withResolvers<void>()
  #onProgress: ((text: string) => void) | undefined
  #unfollow: (() => void) | undefined

  constructor(name: string, args: unknown, work: (channel: CallChannel) => Promise<CallAnswer>) {
    this.key = callKey(name, args)
    this.#result = work({
      signal: this.#stopping.signal,
      progress: (text) => this.#onProgress?.(text),
      ask: (question) => this.#ask(question),
    })
    this.#result.catch(() => {}) // `nextStep` reports it
  }

  /** Resolves when the call has ended, with or without a result. */
  async ended(): Promise<void> {
    await this.#result.catch(() => {})
  }

  /** From now on this request receives the progress, and its cancellation ends the call. */
  follow(signal: AbortSignal, onProgress: ((text: string) => void) | undefined): void {
    this.#unfollow?.()
    this.#onProgress = onProgress
    const abort = (): void => this.abort(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    this.#unfollow = () => signal.removeEventListener('abort', abort)
  }

  /** The request was answered; its end does not end the call. */
  unfollow(): void {
    this.#unfollow?.()
    this.#onProgress = undefined
  }

  abort(reason?: unknown): void {
    this.#stopping.abort(reason)
  }

  /** The result, or a question that has to be answered first. Rejects where the work fails without a result. */
  async nextStep(): Promise<{ readonly result: CallAnswer } | { readonly question: OpenQuestion }> {
    for (;;) {
      if (this.#question) return { question: this.#question }
      const result = await Promise.race([this.#result, this.#asked.promise])
      if (result) return { result }
    }
  }

  /** The answer of the client's user. Ignored when the question is no longer open. */
  answer(result: unknown): void {
    const question = this.#question
    this.#question = undefined
    question?.answer(answerIn(question.kind, question.payload, result))
  }

  async #ask({ kind, payload, signal }: ClientQuestion): Promise<InteractionResponse> {
    const form = formOf(kind, payload)
    const { promise, resolve } = Promise.withResolvers<InteractionResponse>()
    const question: OpenQuestion = { kind, payload, signal, form, answer: resolve }
    const withdraw = (): void => {
      if (this.#question === question) this.#question = undefined
      resolve({ status: 'timeout' })
    }
    signal.addEventListener('abort', withdraw, { once: true })
    this.#question = question
    this.#asked.resolve()
    this.#asked = Promise.withResolvers()
    return promise.finally(() => signal.removeEventListener('abort', withdraw))
  }
}

/** Calls whose clients have to come back with an answer, by the request state they were given. */
export class SuspendedCalls {
  readonly #suspended = new Map<string, { readonly call: PendingCall; readonly timer: NodeJS.Timeout }>()

  /** Returns the request state. It is good for one return. */
  suspend(call: PendingCall): string {
    const state = createMcpToken()
    const timer = setTimeout(() => this.#drop(state), longestAnswerMs).unref()
    this.#suspended.set(state, { call, timer })
    return state
  }

  /** The call that a client comes back for; `undefined` if the state is unknown or belongs to another call. */
  resume(state: string, name: string, args: unknown): PendingCall | undefined {
    const suspended = this.#suspended.get(state)
    if (!suspended || suspended.call.key !== callKey(name, args)) return undefined
    clearTimeout(suspended.timer)
    this.#suspended.delete(state)
    return suspended.call
  }

  close(): void {
    for (const state of [...this.#suspended.keys()]) this.#drop(state)
  }

  #drop(state: string): void {
    const suspended = this.#suspended.get(state)
    this.#suspended.delete(state)
    clearTimeout(suspended?.timer)
    suspended?.call.abort(new Error('the client did not come back'))
  }
}

/** How long a client may take to answer a question. An approval times out earlier. */
export const longestAnswerMs = 600_000
