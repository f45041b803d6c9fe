import type { ThinkingLevel } from '../../core/thinking.ts'

export type Effort = 'low' | 'medium' | 'high' | 'xhigh' | 'max'

/** What a line of models takes; every other combination is refused with a 400. */
export interface ModelTraits {
  /** `thinking: { type: 'enabled', budget_tokens }`. */
  readonly budgets: boolean
  readonly adaptive: boolean
  /** What leaving `thinking` out means. `always` cannot be turned off. */
  readonly unasked: 'off' | 'adaptive' | 'always'
  /** `temperature`, `top_p`, `top_k`. */
  readonly sampling: boolean
  readonly efforts: readonly Effort[]
  /** Shows its thinking only when asked to with `display`. */
  readonly hidesThinking: boolean
  /** `output_config.format`. */
  readonly structuredOutput: boolean
}

const upToMax = ['low', 'medium', 'high', 'max'] as const
const all = ['low', 'medium', 'high', 'xhigh', 'max'] as const

const classic: ModelTraits = {
  budgets: true,
  adaptive: false,
  unasked: 'off',
  sampling: true,
  efforts: [],
  hidesThinking: false,
  structuredOutput: false,
}
const of4_5: ModelTraits = { ...classic, structuredOutput: true }
const of4_6: ModelTraits = { ...of4_5, adaptive: true, efforts: upToMax }
const of4_7: ModelTraits = { ...of4_6, budgets: false, sampling: false, efforts: all, hidesThinking: true }
const of5: ModelTraits = { ...of4_7, unasked: 'adaptive' }
const alwaysThinking: ModelTraits = { ...of4_7, unasked: 'always' }

/** First match counts. A model that nobody knows is taken for one of before, which is what compatible services offer. */
const lines: readonly (readonly [RegExp, ModelTraits])[] = [
  [/(fable|mythos)/, alwaysThinking],
  [/(opus|sonnet|haiku)-4[.-][5]\b/, of4_5],
  [/(opus|sonnet|haiku)-4[.-]6\b/, of4_6],
  [/(opus|sonnet|haiku)-4[.-][78]\b/, of4_7],
  [/(opus|sonnet|haiku)-([5-9]|\d\d)\b/, of5],
]

export function traitsOf(model: string): ModelTraits {
  return lines.find(([pattern]) => pattern.test(model))?.[1] ?? classic
}

/** The effort that comes nearest to a level, for models that take no budgets. */
export const effortFor: Record<Exclude<ThinkingLevel, 'off' | 'adaptive'>, Effort> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
}
