import type { EntryBody } from '../../core/log.ts'
import type { Session } from '../../core/store.ts'
import type { LogViews } from '../../plugins/log-views.ts'
import type { AgentState } from '../../plugins/message.ts'
import { type HandlerMessage, yieldEntry } from '../../plugins/yield-note.ts'
import { errorDetailOf } from '../engine/error-detail.ts'
import { type Said, saidEntry } from '../engine/said.ts'
import type { WorkflowDependencies } from '../engine/workflow-dependencies.ts'
import type { HandlerRun } from './handler-run.ts'
import type { HandlerOutcome } from './work-by-handler.ts'

export interface HandlerEndingOptions {
  readonly session: Session
  readonly views: LogViews
  readonly makings: Pick<WorkflowDependencies, 'clock' | 'newId'>
  readonly isLeaving: () => boolean
}

type Ended = HandlerOutcome & { readonly run: HandlerRun }

/**
 * What the log lacks when a handler has ended: what was said to it and never executed, what it says itself, and the
 * state that it came to, where the engine came to another.
 */
export function handlerEnding(
  options: HandlerEndingOptions,
  start: Said,
  ended: Ended,
): { readonly entries: readonly EntryBody[]; readonly unheard: Said } {
  const { session, views, makings, isLeaving } = options
  const { transcript } = session.log
  const unheard = ended.run.hasSpoken || transcript.hasClientKey(start.clientKey ?? '') ? {} : start
  const words = unheard.prompt ? [saidEntry(unheard.prompt, makings, unheard)] : []

  const logged = views.messages.status.state
  const came = stateOf(ended, logged, { isUnheard: words.length > 0 }) ?? logged
  const state = came === 'canceled' && isLeaving() ? 'interrupted' : came
  const message = messageOfItsOwn(options, ended, came)
  // An answer to what was said is part of the conversation; what is said while calls wait must not leave them behind.
  if (message?.role === 'assistant' && words.length > 0 && transcript.openCalls.length === 0)
    return { entries: [...words, answered(message, makings), yieldEntry(state)], unheard }
  const note = message || state !== logged ? [yieldEntry(state, message)] : []
  return { entries: [...words, ...note], unheard }
}

/** Nothing where what the log says counts. */
function stateOf(
  { last, failure, run }: Ended,
  logged: AgentState,
  { isUnheard }: { readonly isUnheard: boolean },
): AgentState | undefined {
  if (run.isCancelled && (run.isGivenUp || failure || logged === 'canceled')) return 'canceled'
  if (failure) return 'failed'
  if (last && last.state !== 'working') return last.state
  if (!isUnheard) return undefined
  return run.isCancelled ? 'canceled' : 'completed'
}

function messageOfItsOwn(
  { views, makings }: HandlerEndingOptions,
  { last, failure, run }: Ended,
  state: AgentState,
): HandlerMessage | undefined {
  if (state === 'canceled') return undefined
  if (failure) {
    const errorDetail = errorDetailOf(failure.error)
    return { id: makings.newId(), role: 'error', content: errorDetail.message, errorDetail }
  }
  const { message } = last ?? {}
  const known = message && views.messages.get(message.id)
  if (!message || last?.state === 'working' || message === known || (known && !run.isOwn(message))) return undefined
  const { role, content, metadata } = message
  // Handlers like to use one name again and again, or none.
  const id = known || typeof message.id !== 'string' ? makings.newId() : message.id
  if (role !== 'error') return { id, content, role: role === 'assistant' ? role : 'agent' }
  return { id, content, role, errorDetail: metadata?.errorDetail ?? { name: 'Error', message: content } }
}

function answered({ id, content: text }: HandlerMessage, { clock }: Pick<WorkflowDependencies, 'clock'>): EntryBody {
  const said = { id, runId: '', createdAt: clock.now() }
  return { type: 'turn', turn: { ...said, role: 'assistant', content: [{ type: 'text', text }] } }
}
