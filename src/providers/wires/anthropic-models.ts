import type { ThinkingLevel } from '../../core/thinking.ts'

/** What a family of models accepts. The service refuses anything else with a 400. */
interface ModelTraits {
  /** `thinking: { type: 'enabled', budget_tokens }`. */
  readonly acceptsBudgets: boolean
  /** `thinking: { type: 'adaptive' }`. */
  readonly acceptsAdaptive: boolean
  /** What the model does without a `thinking` field. `always` cannot be turned off. */
  readonly defaultThinking: 'off' | 'adaptive' | 'always'
  /** `temperature`, `top_p`, `top_k`. */
  readonly acceptsSampling: boolean
  /** Sends its thinking only if `display` is set. */
  readonly hidesThinking: boolean
  /** `output_config.format`. */
  readonly structuredOutput: boolean
}

const classic: ModelTraits = {
  acceptsBudgets: true,
  acceptsAdaptive: false,
  defaultThinking: 'off',
  acceptsSampling: true,
  hidesThinking: false,
  structuredOutput: false,
}
const of4_5: ModelTraits = { ...classic, structuredOutput: true }
const of4_6: ModelTraits = { ...of4_5, acceptsAdaptive: true }
const of4_7: ModelTraits = {
  ...of4_6,
  acceptsBudgets: false,
  acceptsSampling: false,
  hidesThinking: true,
}
const of5: ModelTraits = { ...of4_7, defaultThinking: 'adaptive' }
const alwaysThinking: ModelTraits = { ...of4_7, defaultThinking: 'always' }

/** The first match counts. An unknown model counts as an old one: compatible services often support only what old models do. */
const families: readonly (readonly [RegExp, ModelTraits])[] = [
  [/(fable|mythos)/, alwaysThinking],
  [/(opus|sonnet|haiku)-4[.-]5\b/, of4_5],
  [/(opus|sonnet|haiku)-4[.-]6\b/, of4_6],
  [/(opus|sonnet|haiku)-4[.-][78]\b/, of4_7],
  [/(opus|sonnet|haiku)-([5-9]|\d\d)\b/, of5],
]

export function traitsOf(model: string): ModelTraits {
  return families.find(([pattern]) => pattern.test(model))?.[1] ?? classic
}

/** The nearest effort for a level, for models without budgets. */
export const effortFor: Record<Exclude<ThinkingLevel, 'off' | 'adaptive'>, 'low' | 'medium' | 'high'> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
}
