import type { Session } from '../../core/store.ts'
import type { Message, PromptPart } from '../../core/turn.ts'
import { createPluginHooks } from '../../plugins/create-plugin-hooks.ts'
import type { LogViews } from '../../plugins/log-views.ts'
import { agentView } from '../../plugins/plugin-hooks.ts'
import { concatPrompt } from '../../plugins/prompts/concat-prompt.ts'
import type { PromptState } from '../../plugins/prompts/prompt.ts'
import { type AgentInstance, configOf } from '../definitions/definition.ts'
import type { WorkflowDependencies } from '../workflow-contract.ts'
import { pluginsOf } from './engine.ts'

interface PromptPreviewOptions {
  readonly dependencies: WorkflowDependencies
  readonly instance: AgentInstance
  readonly session: Session
  readonly views: LogViews
  /** A message that has not been sent. */
  readonly message?: readonly PromptPart[] | undefined
}

/** The steps in which the plugins of an agent would build its next prompt. Calls no model and writes nothing. */
export function previewPrompt(options: PromptPreviewOptions): AsyncIterable<PromptState> {
  const { dependencies, instance, session, views, message } = options
  const definition = dependencies.definition(instance.definitionId)
  const { prompts = [], contextWindowSize } = configOf(definition, instance)
  const next: readonly Message[] = message ? [{ role: 'user', content: message }] : []
  return concatPrompt({
    agentFrameworkContext: {
      agent: agentView(instance, views.messages, session.log),
      agentDef: { ...definition },
      isCancelled: () => false,
    },
    metadata: {},
    actions: {},
    hooks: createPluginHooks(pluginsOf(dependencies, definition, instance), dependencies.onError),
    prompts,
    messages: views.durations.of([...session.log.transcript.turns, ...next]),
    contextWindowSize,
  })
}
