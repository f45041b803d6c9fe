import { definePlugin } from '../plugin.ts'
import type { PostProcessContext, PromptContext } from '../plugin-hooks.ts'
import { fitHistory } from '../tokens/trim-messages.ts'
import type { PromptNode } from './prompt.ts'
import { findPrompt, injectNode, missingPromptError } from './prompt-tree.ts'

/** `fullReplacementParam` of an entry. */
interface FullReplacementConfig {
  /** The prompt to replace. */
  readonly targetId: string
  readonly sourceType: 'historyOfSession' | 'llmResponse'
  /** In tokens; the conversation gets 70 % of it, or less if the agent's own window is smaller. */
  readonly contextWindowSize?: number
}

/** Replaces a prompt by the conversation, or by the answer of the model. */
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
  if (!target) throw missingPromptError(prompts, 'fullReplacement', targetId)
  const other = pieceWithHistory(prompts)
  // No service accepts the same calls twice.
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

/** The target is a part of the response, else a prompt. */
function putResponse(ctx: PostProcessContext, targetId: string): Pick<PostProcessContext, 'responses'> | undefined {
  const { llmResponse, prompts, responses } = ctx
  if (responses.some(({ id }) => id === targetId))
    return { responses: responses.map((part) => (part.id === targetId ? { ...part, text: llmResponse } : part)) }
  const target = findPrompt(prompts, targetId)
  if (!target) throw missingPromptError([...responses, ...prompts], 'fullReplacement', targetId)
  target.text = llmResponse
  delete target.children
  return undefined
}

/** `dynamicPositionParam` of an entry. */
interface DynamicPositionConfig {
  readonly targetId: string
  /** `relative`: into the prompt, at its end. */
  readonly position: 'before' | 'after' | 'relative'
}

/** Inserts the `content` of its entry before, after or into a prompt. */
export const dynamicPosition = definePlugin<DynamicPositionConfig>({
  toolId: 'dynamicPosition',
  displayName: 'Dynamic position',
  description: 'Puts a text before or after a prompt, or into it.',
  configSchema: {
    type: 'object',
    properties: {
      targetId: { type: 'string', minLength: 1, description: 'The id of the prompt that the text goes to' },
      position: { type: 'string', enum: ['before', 'after', 'relative'] },
    },
    required: ['targetId', 'position'],
    additionalProperties: false,
  },
  onProcessPrompts({ config, prompts, toolConfig }) {
    const { id, caption, content } = toolConfig
    if (!content) return
    const node = { id, text: content, ...(caption !== undefined && { caption }), source: ['plugins', id] }
    const position = config.position === 'relative' ? 'child' : config.position
    if (!injectNode(prompts, { targetId: config.targetId, position, node }))
      throw missingPromptError(prompts, 'dynamicPosition', config.targetId)
  },
})
