import { didYouMean } from '../../core/nearest.ts'
import type { PromptPart } from '../../core/turn.ts'
import type { AgentInstanceLatestStatus } from '../../plugins/message.ts'
import type { AgentFrameworkContext } from '../../plugins/plugin-hooks.ts'
import type { AgentDefinition, AgentInstance } from '../definitions/definition.ts'

/** What a handler works with. */
export interface HandlerContext extends AgentFrameworkContext {
  /** What was just said; absent where the agent goes on by itself: after a restart, an answer, or when it is woken. */
  readonly prompt?: readonly PromptPart[]
  /** Lets the engine work until it comes to an end. Without a prompt it goes on from where the log stands. */
  execute(options?: { readonly prompt?: string | readonly PromptPart[] }): AsyncIterable<AgentInstanceLatestStatus>
}

/** What an agent does with a message. Yields its state as it changes; the last one counts. */
export type AgentHandler = (context: HandlerContext) => AsyncIterable<AgentInstanceLatestStatus>

export const defaultHandlerId = 'basicPromptConcatHandler'

/** Puts the prompt together, asks the model, lets tools run, and so on until a plugin or the model says that it is enough. */
export const basicPromptConcatHandler: AgentHandler = ({ execute, prompt }) => execute({ ...(prompt && { prompt }) })

/** That of the instance, else of the definition, else the default. */
export function handlerOf(
  { id, handlerId: own }: Pick<AgentInstance, 'id' | 'handlerId'>,
  { handlerId = defaultHandlerId }: Pick<AgentDefinition, 'handlerId'>,
  registered: Readonly<Record<string, AgentHandler>>,
): AgentHandler {
  const wanted = own ?? handlerId
  const handler = find(wanted, registered)
  if (handler) return handler
  throw new Error(`agent ${id} wants ${lostWords(wanted, registered)}`)
}

/** Throws where a definition names a handler that there is not. */
export function checkHandlers(
  definitions: Iterable<AgentDefinition>,
  registered: Readonly<Record<string, AgentHandler>>,
): void {
  for (const { id, handlerId = defaultHandlerId } of definitions)
    if (!find(handlerId, registered))
      throw new TypeError(`definition "${id}" wants ${lostWords(handlerId, registered)}`)
}

function find(id: string, registered: Readonly<Record<string, AgentHandler>>): AgentHandler | undefined {
  if (Object.hasOwn(registered, id)) return registered[id]
  return id === defaultHandlerId ? basicPromptConcatHandler : undefined
}

function lostWords(wanted: string, registered: object): string {
  const meant = didYouMean(wanted, [...Object.keys(registered), defaultHandlerId])
  return `the handler "${wanted}", which nobody registered with createWorkflow({ handlers })${meant}`
}
