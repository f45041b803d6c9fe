import type { Session } from '../../core/store.ts'
import type { Message, PromptPart } from '../../core/turn.ts'
import { agentView } from '../../plugins/agent-view.ts'
import { createPluginHooks } from '../../plugins/create-plugin-hooks.ts'
import type { LogViews } from '../../plugins/log-views.ts'
import { concatPrompt } from '../../plugins/prompts/concat-prompt.ts'
import type { PromptState } from '../../plugins/prompts/prompt.ts'
import type { AgentInstance } from '../definitions/definition.ts'
import { configOf } from './config-of.ts'
import { pluginsOf } from './make-engine.ts'
import type { WorkflowDependencies } from './workflow-dependencies.ts'

export interface PromptStepsInput {
  readonly makings: WorkflowDependencies
  readonly instance: AgentInstance
  readonly session: Session
  readonly views: LogViews
  /** What somebody is about to say. */
  readonly said?: readonly PromptPart[] | undefined
}

/** How the plugins of an agent would put its next prompt together. No model is asked, and nothing is written. */
export function promptSteps({ makings, instance, session, views, said }: PromptStepsInput): AsyncIterable<PromptState> {
  const definition = makings.definition(instance.definitionId)
  const { prompts = [], contextWindowSize } = configOf(definition, instance)
  const next: readonly Message[] = said ? [{ role: 'user', content: said }] : []
  return concatPrompt({
    agentFrameworkContext: {
      agent: agentView(instance, views.messages, session.log),
      agentDef: { ...definition },
      isCancelled: () => false,
    },
    metadata: {},
    actions: {},
    hooks: createPluginHooks(pluginsOf(makings, definition, instance), makings.onError),
    prompts,
    messages: views.durations.of([...session.log.transcript.turns, ...next]),
    contextWindowSize,
  })
}
