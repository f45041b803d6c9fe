import type { Clock } from '../../core/clock.ts'
import { CodedError } from '../../core/errors.ts'
import type { InteractionKind } from '../../core/interaction.ts'
import { copyJson } from '../../core/turn.ts'
import type { CheckedInteraction, InteractionAnswer, TimeLimit } from './interaction-kinds.ts'

/** A question that waits for its answer. */
export interface OpenInteraction extends CheckedInteraction {
  readonly correlationId: string
  /** In ms since the epoch. */
  readonly issuedAt: number
}

/** A question as it is put to one interactor. */
export interface Prompt extends OpenInteraction {
  /** When it counts as not answered, in ms since the epoch. */
  readonly expiresAt: number
  /** Aborted when the question is over for this interactor: close the dialog. */
  readonly signal: AbortSignal
  /** Throws when somebody else was faster, or it is too late. */
  respond(answer: InteractionAnswer): void
}

/** Somebody who can be asked: a screen, a web page, a program that answers for a person. */
export interface Interactor {
  /** Who answers, as the audit has it. */
  readonly name?: string
  /** What it can be asked. Default: everything. */
  readonly kinds?: readonly InteractionKind[]
  /**
   * Shows a question. What it returns is the answer; `undefined` means that it calls `respond` later. An `AbortError`
   * says that the dialog was closed, and cancels the turn; any other error that this interactor cannot answer.
   */
  present(prompt: Prompt): unknown
}

/** A question, its time, those who can still answer it, and the ways it can end. */
export interface OpenQuestion {
  readonly interaction: OpenInteraction
  readonly countdown: Countdown
  readonly queues: Set<InteractorQueue>
  /** Throws for what is no answer to it; the question stays open then. */
  answer(answer: unknown, by: string | undefined): void
  close(by: string | undefined): void
  /** This one cannot answer it. */
  fail(error: unknown, line: InteractorQueue): void
  /** This one will not answer it any more. */
  drop(line: InteractorQueue): void
}

/** The questions of one interactor, which sees them one at a time and in order. */
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

  /** The question is over, at least for this interactor. */
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
      if (signal.aborted) throw notOpen(about.correlationId)
      question.answer(answer, name)
    }
    // Whoever asks or answers is done with that before the next question is shown, however many of them wait.
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

/** What somebody hears who answers a question that is not open any more, or never was. */
export function notOpen(correlationId: string): CodedError {
  return new CodedError(
    'Session/InteractionAlreadyAnswered',
    `the question "${correlationId}" is not open for this answer: it was answered, ran out of time or was withdrawn, or who answers has left; look at the open ones`,
  )
}

/** The time that a question has, which passes only while somebody sees it. */
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

  /** Somebody sees it from now on. Returns when it will be over. */
  watch(): number {
    if (this.#watchers++ === 0) {
      this.#since = this.#clock.now()
      this.#arm(this.#over() - this.#since)
    }
    return this.#over()
  }

  /** One of those who saw it does not any more. */
  unwatch(): void {
    if (--this.#watchers > 0) return
    this.#cancelTimer()
    this.#leftMs = this.#over() - this.#clock.now()
  }

  #over(): number {
    return this.#until ?? this.#since + this.#leftMs
  }

  /** Day by day: a clock may have a longest timer. */
  #arm(leftMs: number): void {
    const ms = Math.min(Math.max(0, leftMs), dayMs)
    this.#cancelTimer = this.#clock.timer(ms, () => {
      if (leftMs > dayMs) this.#arm(leftMs - dayMs)
      else this.#onOver()
    })
  }
}

const dayMs = 24 * 60 * 60 * 1000
