import { definePlugin } from '../plugin.ts'
import type { PostProcessContext, PromptContext } from '../plugin-hooks.ts'
import { fitHistory } from './history-window.ts'
import { findPrompt, noSuchPrompt } from './inject.ts'
import type { PromptNode } from './prompt.ts'

/** `fullReplacementParam` of an entry. */
export interface FullReplacementConfig {
  /** The piece that gives way. */
  readonly targetId: string
  readonly sourceType: 'historyOfSession' | 'llmResponse'
  /** In tokens; the conversation gets 70 % of it, where the agent's own window does not allow less. */
  readonly contextWindowSize?: number
}

/** Puts the conversation, or the answer of the model, in place of a piece. */
export const fullReplacement = definePlugin<FullReplacementConfig>({
  toolId: 'fullReplacement',
  displayName: 'Full replacement',
  description: 'Puts the conversation, or the answer of the model, in place of a prompt.',
  configSchema: {
    type: 'object',
    properties: {
      targetId: { type: 'string', minLength: 1, description: 'The id of the prompt that gives way' },
      sourceType: { type: 'string', enum: ['historyOfSession', 'llmResponse'] },
      contextWindowSize: { type: 'number', minimum: 0, description: 'In tokens; the conversation gets 70 % of it' },
    },
    required: ['targetId', 'sourceType'],
    additionalProperties: false,
  },
  onProcessPrompts(ctx) {
    if (ctx.config.sourceType === 'historyOfSession') putHistory(ctx, ctx.config)
  },
  onPostProcess(ctx) {
    return ctx.config.sourceType === 'llmResponse' ? putResponse(ctx, ctx.config.targetId) : undefined
  },
})

function putHistory({ prompts, messages }: PromptContext, config: FullReplacementConfig): void {
  const { targetId, contextWindowSize } = config
  const target = findPrompt(prompts, targetId)
  if (!target) throw noSuchPrompt(prompts, 'fullReplacement', targetId)
  const other = pieceWithHistory(prompts)
  // Twice the same calls is what no service accepts.
  if (other && other !== target)
    throw new Error(
      `fullReplacement: the conversation stands at "${other.id}" already, not at "${targetId}"; remove one of the two entries.`,
    )
  target.history = fitHistory(messages, contextWindowSize)
  delete target.text
  delete target.children
}

function pieceWithHistory(nodes: readonly PromptNode[]): PromptNode | undefined {
  for (const node of nodes) {
    const found = node.history ? node : pieceWithHistory(node.children ?? [])
    if (found) return found
  }
  return undefined
}

/** The target is a part of the response, else a piece of the prompt. */
function putResponse(ctx: PostProcessContext, targetId: string): Pick<PostProcessContext, 'responses'> | undefined {
  const { llmResponse, prompts, responses } = ctx
  if (responses.some(({ id }) => id === targetId))
    return { responses: responses.map((part) => (part.id === targetId ? { ...part, text: llmResponse } : part)) }
  const target = findPrompt(prompts, targetId)
  if (!target) throw noSuchPrompt([...responses, ...prompts], 'fullReplacement', targetId)
  target.text = llmResponse
  delete target.children
  return undefined
}
