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
  notOpenError,
  type OpenInteraction,
  type OpenQuestion,
} from './interactor-queue.ts'

interface InteractionsOptions {
  readonly clock: Clock
  readonly newId: () => string
  /** Receives events without the values of answers. Its errors are ignored. */
  readonly onEvent?: (event: InteractionEvent) => void
  readonly headless?: Headless
}

/** `unattended`: no interactor takes such a question. `left`: the interactors that could answer it have left. */
export type InteractionOutcome = { readonly correlationId: string } & (
  | (InteractionResponse & { readonly by?: string })
  | { readonly status: 'unattended' | 'left' }
)

/** Events for a screen or the audit. Every issued question ends with one event. */
export type InteractionEvent = { readonly correlationId: string; readonly kind: InteractionKind } & EventDetails

type EventDetails =
  | { readonly type: 'InteractionIssued'; readonly issuedAt: number }
  | { readonly type: 'InteractionAnswered'; readonly status: 'accepted' | 'rejected' | 'closed'; readonly by?: string }
  | { readonly type: 'InteractionTimedOut'; readonly by?: string }
  | { readonly type: 'InteractionWithdrawn'; readonly why: 'stopped' | 'left' }
  | { readonly type: 'InteractorFailed'; readonly error: string; readonly by?: string }
  | { readonly type: 'HeadlessInteractionRequired'; readonly message: PermissionRequired }

/** Sends questions to the attached interactors and collects the answers. */
export interface Interactions {
  /** Attaches an interactor, which is shown the open questions too. Returns a function that detaches it. */
  attach(interactor: Interactor | Interactor['present']): () => void
  /** Asks all interactors that take such a question; the first answer counts. Rejects if `signal` aborts or the dialog is closed. */
  interact(request: InteractionRequest, options: InteractOptions): Promise<InteractionOutcome>
  whoAnswers(kind: InteractionKind): 'person' | 'yolo' | 'unattended'
  /** Answers a question from outside an interactor. Throws if it is not open. */
  answer(correlationId: string, answer: InteractionAnswer, by?: string): void
  /** The open questions, oldest first, for a screen that reconnects. */
  readonly open: readonly OpenInteraction[]
}

export interface InteractOptions {
  readonly signal: AbortSignal
  /** Default: 60 s for a confirmation, the expiry of a device code, 120 s otherwise. Time counts only while the question is shown. */
  readonly timeoutMs?: number
}

/** Creates the hub. No timer or listener remains once all questions have ended. */
export function createInteractions(options: InteractionsOptions): Interactions {
  const { clock, newId, onEvent, headless = 'halt' } = options
  const lines = new Set<InteractorQueue>()
  const questions = new Map<string, OpenQuestion>()

  function tell({ correlationId, kind }: OpenInteraction, event: EventDetails): void {
    try {
      onEvent?.({ correlationId, kind, ...event })
    } catch {
      // A failing listener must not block an answer.
    }
  }

  function ask(about: OpenInteraction, limit: TimeLimit, signal: AbortSignal): Promise<InteractionOutcome> {
    const { correlationId, kind } = about
    const { promise, resolve, reject } = Promise.withResolvers<InteractionOutcome>()

    function end(event: EventDetails): void {
      if (!questions.delete(correlationId)) throw notOpenError(correlationId)
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
        const response = readAnswer(kind, answer, about.payload)
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
        reject(closedError(about, by))
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

  const hasInteractor = (kind: InteractionKind): boolean => [...lines].some((line) => line.takes(kind))

  function answerUnattended(about: OpenInteraction): InteractionOutcome {
    const { correlationId, kind, payload } = about
    const response = headless === 'yolo' ? yoloAnswer(kind, payload) : undefined
    if (!response) {
      tell(about, { type: 'HeadlessInteractionRequired', message: permissionRequired(kind, correlationId) })
      return { status: 'unattended', correlationId }
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
      return hasInteractor(checked.kind) ? ask(about, limit, signal) : answerUnattended(about)
    },
    whoAnswers(kind) {
      if (hasInteractor(kind)) return 'person'
      return headless === 'yolo' && kind !== 'trustProject' ? 'yolo' : 'unattended'
    },
    answer(correlationId, answer, by) {
      const question = questions.get(correlationId)
      if (!question) throw notOpenError(correlationId)
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

/** Closing a dialog is not an answer: it cancels the run. */
function closedError({ kind, correlationId }: OpenInteraction, by = 'a person'): CodedError {
  return new CodedError(
    'Cancellation/TurnCancelled',
    `${by} closed the question "${correlationId}" of kind ${kind} without an answer; run again to be asked again`,
  )
}

/** For questions outside a run, such as from a starting tool: rejected if no person can be asked. */
export function interactThrough(interactions: Interactions): Interact {
  return async (request, signal) => {
    const outcome = await interactions.interact(request, { signal })
    if (outcome.status === 'unattended' || outcome.status === 'left')
      return { status: 'rejected', reason: 'no person can be asked' }
    return outcome as InteractionResponse
  }
}
