import type { Message } from '../../core/turn.ts'
import { copyTree, type PluginHooks, type Shared } from '../plugin-hooks.ts'
import { flattenPrompts } from './flatten.ts'
import { fitHistory } from './history-window.ts'
import type { FlatPrompt, PromptNode, PromptResult, PromptState } from './prompt.ts'
import { promptResult } from './prompt-result.ts'
import { sayAgain } from './say-again.ts'

/** What a prompt is made of. */
export interface ConcatPromptInput
  extends Pick<Shared<'processPrompts'>, 'agentFrameworkContext' | 'metadata' | 'actions'> {
  /** The tree; it is not changed. */
  readonly prompts: readonly PromptNode[]
  readonly hooks: PluginHooks
  /** The conversation, with the messages themselves: providers know them again. */
  readonly messages: readonly Message[]
  /** In tokens; the conversation gets 70 % of it. Default: all of the conversation. */
  readonly contextWindowSize?: number | undefined
}

/** Puts a prompt together, and says after each step how far it is. The last state has the result. */
export async function* concatPrompt(input: ConcatPromptInput): AsyncGenerator<PromptState, void, undefined> {
  const { agentFrameworkContext, metadata, actions, hooks } = input
  const messages = fitHistory(input.messages, input.contextWindowSize)
  let value: Shared<'processPrompts'> = {
    agentFrameworkContext,
    metadata,
    actions,
    messages,
    prompts: copyTree(input.prompts),
  }
  for await (const { value: left, plugin, done, of } of hooks.waterfall('processPrompts', value)) {
    value = left
    yield { step: 'plugin', plugin, progress: (done / of) * 0.7, prompts: value.prompts }
  }
  for await (const { value: left } of hooks.waterfall('finalizePrompts', value)) value = left
  const { prompts } = value
  yield { step: 'finalize', progress: 0.8, prompts }
  const flat = withHistory(flattenPrompts(prompts), value.messages)
  yield { step: 'flatten', progress: 0.9, prompts, flat }
  yield { step: 'complete', progress: 1, prompts, flat, result: promptResult(flat, value.messages, sayAgain(metadata)) }
}

/** Waits for the last state, and gives what the model is to be sent. */
export async function getFinalPromptResult(states: AsyncIterable<PromptState>): Promise<PromptResult> {
  let result: PromptResult | undefined
  for await (const state of states) result = state.result ?? result
  if (!result)
    throw new Error('the prompt was not finished: its states ended before "complete"; take them from concatPrompt')
  return result
}

/** A tree that has no place for the conversation gets it at its end. */
function withHistory(flat: FlatPrompt[], messages: readonly Message[]): FlatPrompt[] {
  if (!flat.some((piece) => piece.role === 'history')) flat.push({ role: 'history', messages })
  return flat
}
