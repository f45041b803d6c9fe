import type { ThinkingLevel } from '../../core/thinking.ts'

export type Effort = 'none' | 'minimal' | 'low' | 'medium' | 'high'

const plain: readonly Effort[] = ['low', 'medium', 'high']

/** First match counts. Models that nobody knows are taken for such that do not reason. */
const lines: readonly (readonly [RegExp, readonly Effort[] | undefined])[] = [
  [/codex/, plain],
  [/gpt-5-chat/, undefined],
  [/gpt-5\.\d+-chat/, ['medium']],
  [/gpt-5-pro/, ['high']],
  [/gpt-5\.\d+-pro/, ['medium', 'high']],
  [/gpt-5\.\d/, ['none', ...plain]],
  [/gpt-5/, ['minimal', ...plain]],
  [/gpt-6-(luna|sol)|gpt-6\.1-terra/, ['none', ...plain]],
  [/gpt-([6-9]|1\d)\b|gpt-oss|(^|\/)o\d+(-|$)/, plain],
  [/grok.*non-reasoning/, undefined],
  [/grok-(4\.[3-9]|latest|4\.20-multi-agent)/, plain],
  [/grok-4/, []],
]

/** How hard a model can be told to think. Empty: it reasons as it likes; `undefined`: it does not reason. */
export function effortsOf(model: string): readonly Effort[] | undefined {
  return lines.find(([pattern]) => pattern.test(model))?.[1]
}

/** The effort that is meant by a level, else the next one up, else the highest there is. */
export function effortFor(
  level: Exclude<ThinkingLevel, 'off' | 'adaptive'>,
  efforts: readonly Effort[],
): Effort | undefined {
  const wanted = ascending.slice(ascending.indexOf(level))
  return wanted.find((effort) => efforts.includes(effort)) ?? efforts.at(-1)
}

const ascending: readonly Effort[] = ['minimal', 'low', 'medium', 'high']
