import type { Clock } from '../../core/clock.ts'
import { CodedError } from '../../core/errors.ts'
import type { InteractionKind } from '../../core/interaction.ts'
import { copyJson } from '../../core/turn.ts'
import type { CheckedInteraction, InteractionAnswer, TimeLimit } from './interaction-kinds.ts'

/** An open question. */
export interface OpenInteraction extends CheckedInteraction {
  readonly correlationId: string
  /** In ms since the epoch. */
  readonly issuedAt: number
}

/** A question as one interactor sees it. */
export interface Prompt extends OpenInteraction {
  /** When it times out, in ms since the epoch. */
  readonly expiresAt: number
  /** Aborted when the question has ended for this interactor: close the dialog. */
  readonly signal: AbortSignal
  /** Throws if the question has already ended. */
  respond(answer: InteractionAnswer): void
}

/** Shows questions and returns answers: a screen, a web page, or a program that answers for a person. */
export interface Interactor {
  /** The name recorded in the audit. */
  readonly name?: string
  /** The kinds of questions it takes. Default: all. */
  readonly kinds?: readonly InteractionKind[]
  /**
   * Shows a question. Its return value is the answer; `undefined` means that it calls `respond` later. An `AbortError`
   * means that the dialog was closed, and cancels the turn. Any other error means that it cannot answer.
   */
  present(prompt: Prompt): unknown
}

/** A question with its countdown, the queues it waits in, and the ways it can end. */
export interface OpenQuestion {
  readonly interaction: OpenInteraction
  readonly countdown: Countdown
  readonly queues: Set<InteractorQueue>
  /** Throws on an invalid answer; the question then stays open. */
  answer(answer: unknown, by: string | undefined): void
  close(by: string | undefined): void
  fail(error: unknown, line: InteractorQueue): void
  drop(line: InteractorQueue): void
}

/** The questions of one interactor, shown one at a time and in order. */
export class InteractorQueue {
  readonly interactor: Interactor
  readonly #waiting = new Set<OpenQuestion>()
  #shown: { readonly question: OpenQuestion; readonly over: AbortController } | undefined

  constructor(interactor: Interactor) {
    this.interactor = interactor
  }

  takes(kind: InteractionKind): boolean {
    return this.interactor.kinds?.includes(kind) ?? true
  }

  add(question: OpenQuestion): void {
    question.queues.add(this)
    this.#waiting.add(question)
    this.#showNext()
  }

  remove(question: OpenQuestion): void {
    question.queues.delete(this)
    this.#waiting.delete(question)
    if (this.#shown?.question !== question) return
    const { over } = this.#shown
    this.#shown = undefined
    question.countdown.unwatch()
    over.abort()
    this.#showNext()
  }

  #showNext(): void {
    const [question] = this.#waiting
    if (this.#shown || !question) return
    this.#waiting.delete(question)
    const over = new AbortController()
    this.#shown = { question, over }
    void this.#show(question, question.countdown.watch(), over.signal)
  }

  async #show(question: OpenQuestion, expiresAt: number, signal: AbortSignal): Promise<void> {
    const { interaction: about } = question
    const { name } = this.interactor
    const respond = (answer: InteractionAnswer): void => {
      if (signal.aborted) throw notOpenError(about.correlationId)
      question.answer(answer, name)
    }
    // Lets the current asking or answering finish first, so that a chain of questions does not recurse.
    await null
    if (signal.aborted) return
    try {
      const answer = await this.interactor.present({
        ...about,
        payload: copyJson(about.payload),
        expiresAt,
        signal,
        respond,
      })
      if (answer !== undefined && !signal.aborted) question.answer(answer, name)
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof Error && error.name === 'AbortError') question.close(name)
      else question.fail(error, this)
    }
  }
}

/** The error for an answer to a question that is not open. */
export function notOpenError(correlationId: string): CodedError {
  return new CodedError(
    'Session/InteractionAlreadyAnswered',
    `the question "${correlationId}" is not open for this answer: it was answered, ran out of time or was withdrawn, or its interactor has left; see the open ones`,
  )
}

/** The time limit of a question. It counts only while at least one interactor shows the question. */
export class Countdown {
  readonly #clock: Clock
  readonly #onOver: () => void
  readonly #until: number | undefined
  #leftMs = 0
  #since = 0
  #watchers = 0
  #cancelTimer = (): void => {}

  constructor(clock: Clock, limit: TimeLimit, onOver: () => void) {
    this.#clock = clock
    this.#onOver = onOver
    if ('until' in limit) this.#until = limit.until
    else this.#leftMs = limit.ms
  }

  /** An interactor shows it from now on. Returns the time of expiry. */
  watch(): number {
    if (this.#watchers++ === 0) {
      this.#since = this.#clock.now()
      this.#arm(this.#over() - this.#since)
    }
    return this.#over()
  }

  unwatch(): void {
    if (--this.#watchers > 0) return
    this.#cancelTimer()
    this.#leftMs = this.#over() - this.#clock.now()
  }

  #over(): number {
    return this.#until ?? this.#since + this.#leftMs
  }

  /** Sets at most a day at once: a clock may limit the length of a timer. */
  #arm(leftMs: number): void {
    const ms = Math.min(Math.max(0, leftMs), dayMs)
    this.#cancelTimer = this.#clock.timer(ms, () => {
      if (leftMs > dayMs) this.#arm(leftMs - dayMs)
      else this.#onOver()
    })
  }
}

const dayMs = 24 * 60 * 60 * 1000
