import { definePlugin } from '../plugin.ts'
import { injectNode, noSuchPrompt } from './inject.ts'

/** `dynamicPositionParam` of an entry. */
export interface DynamicPositionConfig {
  readonly targetId: string
  /** `relative`: into the piece, at its end. */
  readonly position: 'before' | 'after' | 'relative'
}

/** Puts the `content` of its entry before or after a piece, or into it. */
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
      throw noSuchPrompt(prompts, 'dynamicPosition', config.targetId)
  },
})
