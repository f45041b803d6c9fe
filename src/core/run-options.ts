import { checkBehavior, show } from './behavior.ts'
import { didYouMean } from './nearest.ts'
import type { RunOptions } from './run.ts'
import { isThinkingLevel } from './thinking.ts'

/** Throws on an option that cannot be meant, naming the value and what would be right. */
export function checkRunOptions(options: unknown): asserts options is RunOptions {
  if (typeof options !== 'object' || options === null)
    throw new TypeError(`run() takes an object such as { prompt: '…' }, got ${show(options)}`)
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(rules, name))
      throw new TypeError(`run() has no option "${name}"${didYouMean(name, Object.keys(rules))}`)
    const rule = rules[name as keyof RunOptions]
    if (value !== undefined && rule && !rule[0](value))
      throw new TypeError(`run() option "${name}" must be ${rule[1]}, got ${show(value)}`)
  }
  checkBehavior((options as RunOptions).behavior, 'run() option behavior')
}

type Rule = readonly [isRight: (value: unknown) => boolean, wanted: string]
const text: Rule = [(value) => typeof value === 'string', 'a text']
const record: Rule = [(value) => typeof value === 'object' && value !== null && !Array.isArray(value), 'an object']

/** Options without a rule are checked where they are read. */
const rules: Record<keyof RunOptions, Rule | undefined> = {
  prompt: undefined,
  images: undefined,
  tools: undefined,
  behavior: undefined,
  model: [(value) => typeof value === 'string' && value !== '', 'the name of a model'],
  system: text,
  thinking: [isThinkingLevel, '"off", "minimal", "low", "medium", "high" or "adaptive"'],
  signal: [(value) => value instanceof AbortSignal, 'an AbortSignal'],
  hooks: record,
  clientKey: [(value) => typeof value === 'string' && value !== '', 'a text that names this prompt'],
}
