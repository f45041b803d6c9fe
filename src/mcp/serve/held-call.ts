import type { InteractionResponse } from '../../core/interaction.ts'
import { answerIn, type Form, formOf } from './elicitation.ts'
import type { ClientQuestion } from './seat.ts'
import type { CallAnswer } from './to-content.ts'

/** What a call may do while it is under way. */
export interface CallLine {
  readonly signal: AbortSignal
  progress(text: string): void
  ask(question: ClientQuestion): Promise<InteractionResponse>
}

/** How far a call has come: it is over, or somebody has to be asked before it goes on. */
export type Step = { readonly answer: CallAnswer } | Asking

interface Asking {
  readonly form: Form
  /** Aborted when it is not asked any more. */
  readonly signal: AbortSignal
}

/**
 * A call that goes on while its client is asked something. The client then calls once more, and finds it again by the
 * state it was given: so a request may come back several times before there is a result.
 */
export class HeldCall {
  /** The tool and its arguments: whoever comes back must mean the same call. */
  readonly about: string
  readonly #stopping = new AbortController()
  readonly #over: Promise<CallAnswer>
  #question: Open | undefined
  #asked = Promise.withResolvers<void>()
  #listener: ((text: string) => void) | undefined
  #unfollow: (() => void) | undefined

  constructor(about: string, work: (line: CallLine) => Promise<CallAnswer>) {
    this.about = about
    this.#over = work({
      signal: this.#stopping.signal,
      progress: (text) => this.#listener?.(text),
      ask: (question) => this.#ask(question),
    })
    this.#over.catch(() => {}) // whoever waits for it hears of it
  }

  /** Resolves when nothing is under way any more, however it ended. */
  async ended(): Promise<void> {
    await this.#over.catch(() => {})
  }

  /** From now on this request is the one that waits: it hears of progress, and ends the call when it is cancelled. */
  follow(signal: AbortSignal, listener: ((text: string) => void) | undefined): void {
    this.#unfollow?.()
    this.#listener = listener
    const abort = (): void => this.abort(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    this.#unfollow = () => signal.removeEventListener('abort', abort)
  }

  /** The request was answered, and its end says nothing about the call. */
  unfollow(): void {
    this.#unfollow?.()
    this.#listener = undefined
  }

  abort(reason?: unknown): void {
    this.#stopping.abort(reason)
  }

  /** Rejects where the work fails in a way that is no result. */
  async step(): Promise<Step> {
    for (;;) {
      if (this.#question) return { form: this.#question.form, signal: this.#question.signal }
      const asked = this.#asked.promise
      const answer = await Promise.race([this.#over, asked])
      if (answer) return { answer }
    }
  }

  /** What the client's user said. Where nothing is asked any more it is too late, and ignored. */
  answer(result: unknown): void {
    const open = this.#question
    this.#question = undefined
    open?.answer(answerIn(open.kind, open.payload, result))
  }

  async #ask({ kind, payload, signal }: ClientQuestion): Promise<InteractionResponse> {
    const form = formOf(kind, payload)
    const { promise, resolve } = Promise.withResolvers<InteractionResponse>()
    const open: Open = { kind, payload, signal, form, answer: resolve }
    const drop = (): void => {
      if (this.#question === open) this.#question = undefined
      resolve({ status: 'timeout' })
    }
    signal.addEventListener('abort', drop, { once: true })
    this.#question = open
    this.#asked.resolve()
    this.#asked = Promise.withResolvers()
    return promise.finally(() => signal.removeEventListener('abort', drop))
  }
}

interface Open extends ClientQuestion, Asking {
  answer(response: InteractionResponse): void
}
