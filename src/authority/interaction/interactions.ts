import type { Clock } from '../../core/clock.ts'
import { CodedError, messageOf } from '../../core/errors.ts'
import type { Interact, InteractionKind, InteractionRequest, InteractionResponse } from '../../core/interaction.ts'
import { copyJson } from '../../core/turn.ts'
import {
  checkInteraction,
  type Headless,
  type InteractionAnswer,
  type PermissionRequired,
  permissionRequired,
  readAnswer,
  type TimeLimit,
  timeLimitOf,
  yoloAnswer,
} from './interaction-kinds.ts'
import {
  Countdown,
  type Interactor,
  InteractorQueue,
  notOpen,
  type OpenInteraction,
  type OpenQuestion,
} from './interactor-queue.ts'

interface InteractionsOptions {
  readonly clock: Clock
  readonly newId: () => string
  /** Told what happens, never an answer's value. What it throws is lost: nothing may depend on it. */
  readonly onEvent?: (event: InteractionEvent) => void
  /** Default `halt`. */
  readonly headless?: Headless
}

/** `nobody` was there who takes such a question; or those who could have answered it `left`. */
export type InteractionOutcome = { readonly correlationId: string } & (
  | (InteractionResponse & { readonly by?: string })
  | { readonly status: 'nobody' | 'left' }
)

/** What a screen may show beside the dialogs themselves. Every question that is issued comes to one end. */
export type InteractionEvent = { readonly correlationId: string; readonly kind: InteractionKind } & EventDetails

type EventDetails =
  | { readonly type: 'InteractionIssued'; readonly issuedAt: number }
  | { readonly type: 'InteractionAnswered'; readonly status: 'accepted' | 'rejected' | 'closed'; readonly by?: string }
  | { readonly type: 'InteractionTimedOut'; readonly by?: string }
  | { readonly type: 'InteractionWithdrawn'; readonly why: 'stopped' | 'left' }
  | { readonly type: 'InteractorFailed'; readonly error: string; readonly by?: string }
  | { readonly type: 'HeadlessInteractionRequired'; readonly message: PermissionRequired }

/** Where questions to people meet those who can answer them. */
export interface Interactions {
  /** From now on it is asked too, also what is open already. Returns how it leaves. */
  attach(interactor: Interactor | Interactor['present']): () => void
  /** Asks everybody who takes such a question; the first answer counts. Rejects when `signal` is aborted or the dialog closed. */
  interact(request: InteractionRequest, options: InteractOptions): Promise<InteractionOutcome>
  /** Who would answer such a question now. */
  whoAnswers(kind: InteractionKind): 'person' | 'yolo' | 'nobody'
  /** For those who answer from elsewhere. Throws when the question is not open. */
  answer(correlationId: string, answer: InteractionAnswer, by?: string): void
  /** What waits for an answer, oldest first: for a screen that comes back. */
  readonly open: readonly OpenInteraction[]
}

export interface InteractOptions {
  readonly signal: AbortSignal
  /** Default: 60 s for a confirmation, what a device code says, 120 s for all else. It passes only while somebody sees the question. */
  readonly timeoutMs?: number
}

/** A hub for questions to people, with no timer and no listener left once all of them came to their end. */
export function createInteractions(options: InteractionsOptions): Interactions {
  const { clock, newId, onEvent, headless = 'halt' } = options
  const lines = new Set<InteractorQueue>()
  const questions = new Map<string, OpenQuestion>()

  function tell({ correlationId, kind }: OpenInteraction, event: EventDetails): void {
    try {
      onEvent?.({ correlationId, kind, ...event })
    } catch {
      // Who only listens cannot hold up an answer.
    }
  }

  function ask(about: OpenInteraction, limit: TimeLimit, signal: AbortSignal): Promise<InteractionOutcome> {
    const { correlationId, kind } = about
    const { promise, resolve, reject } = Promise.withResolvers<InteractionOutcome>()

    function end(event: EventDetails): void {
      if (!questions.delete(correlationId)) throw notOpen(correlationId)
      signal.removeEventListener('abort', stop)
      for (const line of question.queues) line.remove(question)
      tell(about, event)
    }
    function stop(): void {
      reject(signal.reason)
      end({ type: 'InteractionWithdrawn', why: 'stopped' })
    }
    const question: OpenQuestion = {
      interaction: about,
      countdown: new Countdown(clock, limit, () => question.answer({ status: 'timeout' }, undefined)),
      queues: new Set(),
      answer(answer, by) {
        const response = readAnswer(kind, answer)
        const { status } = response
        const who = by !== undefined && { by }
        end(
          status === 'timeout'
            ? { type: 'InteractionTimedOut', ...who }
            : { type: 'InteractionAnswered', status, ...who },
        )
        resolve({ ...response, correlationId, ...who })
      },
      close(by) {
        reject(closed(about, by))
        end({ type: 'InteractionAnswered', status: 'closed', ...(by !== undefined && { by }) })
      },
      fail(error, line) {
        const { name } = line.interactor
        tell(about, { type: 'InteractorFailed', error: messageOf(error), ...(name !== undefined && { by: name }) })
        question.drop(line)
      },
      drop(line) {
        line.remove(question)
        if (question.queues.size > 0 || !questions.has(correlationId)) return
        resolve({ status: 'left', correlationId })
        end({ type: 'InteractionWithdrawn', why: 'left' })
      },
    }
    signal.addEventListener('abort', stop)
    questions.set(correlationId, question)
    for (const line of lines) if (line.takes(kind)) line.add(question)
    tell(about, { type: 'InteractionIssued', issuedAt: about.issuedAt })
    return promise
  }

  const isAnybodyThere = (kind: InteractionKind): boolean => [...lines].some((line) => line.takes(kind))

  /** Nobody is there. */
  function goWithout(about: OpenInteraction): InteractionOutcome {
    const { correlationId, kind, payload } = about
    const response = headless === 'yolo' ? yoloAnswer(kind, payload) : undefined
    if (!response) {
      tell(about, { type: 'HeadlessInteractionRequired', message: permissionRequired(kind, correlationId) })
      return { status: 'nobody', correlationId }
    }
    tell(about, { type: 'InteractionIssued', issuedAt: about.issuedAt })
    tell(about, { type: 'InteractionAnswered', status: 'accepted', by: 'yolo' })
    return { ...response, correlationId, by: 'yolo' }
  }

  return {
    attach(given) {
      const line = new InteractorQueue(typeof given === 'function' ? { present: given } : given)
      lines.add(line)
      for (const question of questions.values()) if (line.takes(question.interaction.kind)) line.add(question)
      return () => {
        lines.delete(line)
        for (const question of [...questions.values()]) if (question.queues.has(line)) question.drop(line)
      }
    },
    async interact(request, { signal, timeoutMs }) {
      const checked = checkInteraction(request)
      const limit = timeoutMs === undefined ? timeLimitOf(checked) : { ms: checkTimeout(timeoutMs) }
      signal.throwIfAborted()
      const about = { ...checked, correlationId: newId(), issuedAt: clock.now() }
      return isAnybodyThere(checked.kind) ? ask(about, limit, signal) : goWithout(about)
    },
    whoAnswers(kind) {
      if (isAnybodyThere(kind)) return 'person'
      return headless === 'yolo' && kind !== 'trustProject' ? 'yolo' : 'nobody'
    },
    answer(correlationId, answer, by) {
      const question = questions.get(correlationId)
      if (!question) throw notOpen(correlationId)
      question.answer(answer, by)
    },
    get open() {
      return Array.from(questions.values(), ({ interaction: about }) => ({
        ...about,
        payload: copyJson(about.payload),
      }))
    },
  }
}

function checkTimeout(timeoutMs: number): number {
  if (Number.isFinite(timeoutMs) && timeoutMs > 0) return timeoutMs
  throw new TypeError(`timeoutMs of a question must be a number of ms above 0, got ${String(timeoutMs)}`)
}

/** Closing a dialog is no answer: it calls off what is going on. */
function closed({ kind, correlationId }: OpenInteraction, by = 'somebody'): CodedError {
  return new CodedError(
    'Cancellation/TurnCancelled',
    `${by} closed the question "${correlationId}" of kind ${kind} without an answer; run again to be asked again`,
  )
}

/** For those who ask outside a run, such as a tool that starts: where nobody is there, nobody said yes. */
export function interactThrough(interactions: Interactions): Interact {
  return async (request, signal) => {
    const outcome = await interactions.interact(request, { signal })
    if (outcome.status === 'nobody' || outcome.status === 'left')
      return { status: 'rejected', reason: 'nobody is there to answer' }
    return outcome as InteractionResponse
  }
}
