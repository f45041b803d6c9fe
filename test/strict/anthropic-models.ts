import type { MessagesBody } from './anthropic-conversation.ts'
import { refuse } from './anthropic-refusal.ts'

/** What a family of models accepts, according to PROTOCOLS 1.2. */
export interface ModelLine {
  readonly thinks: readonly ('enabled' | 'adaptive' | 'disabled')[]
  /** Thinks by default. */
  readonly thinksUnasked: boolean
  readonly samples: boolean
  readonly efforts: readonly string[]
  /** The conversation may end with the assistant. */
  readonly prefills: boolean
}

const most = ['low', 'medium', 'high', 'max']
const all = [...most, 'xhigh']
const before: ModelLine = {
  thinks: ['enabled', 'disabled'],
  thinksUnasked: false,
  samples: true,
  efforts: [],
  prefills: true,
}
const of46: ModelLine = { ...before, thinks: ['enabled', 'adaptive', 'disabled'], efforts: most, prefills: false }
const of47: ModelLine = { ...of46, thinks: ['adaptive', 'disabled'], samples: false, efforts: all }
const of5: ModelLine = { ...of47, thinksUnasked: true }
const fable: ModelLine = { ...of5, thinks: ['adaptive'] }

const lines: readonly (readonly [RegExp, ModelLine])[] = [
  [/fable|mythos/, fable],
  [/(sonnet|opus|haiku)-5/, of5],
  [/-4-[78]/, of47],
  [/-4-6/, of46],
]

export const lineOf = (model: string): ModelLine => lines.find(([pattern]) => pattern.test(model))?.[1] ?? before

/** Checks the combination of thinking, effort and sampling for a model. */
export function checkModel(body: MessagesBody): void {
  const { model, thinking, output_config: output, tool_choice: choice, max_tokens: room } = body
  const line = lineOf(model)
  for (const field of ['temperature', 'top_p', 'top_k'] as const)
    if (!line.samples && body[field] !== undefined) throw refuse(`\`${field}\` is deprecated for this model.`)
  if (output?.effort !== undefined && !line.efforts.includes(output.effort))
    throw refuse('This model does not support the effort parameter.')
  if (thinking && !(line.thinks as readonly string[]).includes(thinking.type))
    throw refuse(`"thinking.type.${thinking.type}" is not supported for this model.`)
  if (thinking?.type === 'enabled') {
    const budget = thinking.budget_tokens ?? 0
    if (budget < 1024) throw refuse('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024')
    if (budget >= room) throw refuse('`max_tokens` must be greater than `thinking.budget_tokens`.')
  }
  const isThinking = thinking ? thinking.type !== 'disabled' : line.thinksUnasked
  const isForced = choice?.type === 'tool' || choice?.type === 'any'
  if (isForced && isThinking) throw refuse('Thinking may not be enabled when tool_choice forces tool use.')
}
