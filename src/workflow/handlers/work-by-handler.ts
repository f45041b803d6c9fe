import type { Session } from '../../core/store.ts'
import { agentView } from '../../plugins/agent-view.ts'
import type { LogViews } from '../../plugins/log-views.ts'
import type { AgentInstanceLatestStatus } from '../../plugins/message.ts'
import type { AgentInstance } from '../definitions/definition.ts'
import type { EngineRuns } from '../engine/engine-runs.ts'
import type { Said } from '../engine/said.ts'
import type { WorkflowDependencies } from '../engine/workflow-dependencies.ts'
import type { AgentHandler, HandlerContext } from './handler.ts'
import { handlerEnding } from './handler-ending.ts'
import { HandlerRun } from './handler-run.ts'

export interface HandlerWorkOptions {
  readonly instance: AgentInstance
  readonly session: Session
  readonly views: LogViews
  readonly makings: WorkflowDependencies
  readonly runs: EngineRuns
  readonly stop: AbortSignal
  /** It is stopped because its process ends: the next one goes on. */
  readonly isLeaving: () => boolean
}

/** Lets a handler work on what was said, and writes down what it leaves beside the runs of the engine. Never rejects for it. */
export async function workByHandler(options: HandlerWorkOptions, handler: AgentHandler, start: Said): Promise<void> {
  const { instance, makings, runs, stop } = options
  const { clock, onError } = makings
  const run = new HandlerRun({ stop, clock, agentId: instance.id })
  const outcome = await outcomeOf(run, () => handler(contextFor(options, start, run)))
  if (run.isGivenUp)
    onError(new Error(`the handler of agent ${instance.id} did not end when it was cancelled; it is left to itself`))
  if (outcome.failure && !run.isCancelled)
    onError(new Error(`the handler of agent ${instance.id} failed`, { cause: outcome.failure.error }))
  if (runs.isUnwritten) return // another process says what becomes of it, or there is no log to say so
  const { entries, unheard } = handlerEnding(options, start, { ...outcome, run })
  if (entries.length > 0) await runs.write(entries, unheard)
}

/** The last status that a handler gave, or why it gave no other. */
export interface HandlerOutcome {
  readonly last?: AgentInstanceLatestStatus | undefined
  readonly failure?: { readonly error: unknown }
}

async function outcomeOf(
  run: HandlerRun,
  begin: () => AsyncIterable<AgentInstanceLatestStatus>,
): Promise<HandlerOutcome> {
  try {
    return { last: await run.follow(begin()) }
  } catch (error) {
    return { failure: { error } }
  }
}

function contextFor(options: HandlerWorkOptions, { prompt, clientKey, meta }: Said, run: HandlerRun): HandlerContext {
  const { instance, makings, views, session, runs } = options
  return {
    agent: agentView(instance, views.messages, session.log),
    agentDef: { ...makings.definition(instance.definitionId) },
    isCancelled: () => run.isCancelled,
    ...(prompt && { prompt }),
    // The key belongs to what was said, and not to what a handler makes of it.
    execute: ({ prompt: words } = {}) => {
      const key = words === prompt ? clientKey : undefined
      return run.during(runs.execute(words, { clientKey: key, meta, signal: run.signal }), {
        isSpeaking: words !== undefined,
      })
    },
  }
}
