import { show } from '../core/behavior.ts'
import { isRecord } from '../core/is-record.ts'
import { didYouMean } from '../core/nearest.ts'
import { type ConcatPromptInput, concatPrompt as concatUnchecked } from './prompts/concat-prompt.ts'
import type { PromptState } from './prompts/prompt.ts'

/** Puts a prompt together, and says after each step how far it is. Input from outside is checked; our own need not be. */
export function concatPrompt(input: ConcatPromptInput): AsyncGenerator<PromptState, void, undefined> {
  if (!isRecord(input)) throw new TypeError(`concatPrompt takes an object with prompts and hooks, got ${show(input)}`)
  for (const name of Object.keys(input))
    if (!Object.hasOwn(rules, name))
      throw new TypeError(`concatPrompt takes no "${name}"${didYouMean(name, Object.keys(rules))}`)
  for (const [name, [isRight, wanted]] of Object.entries(rules)) {
    const value = input[name as keyof ConcatPromptInput]
    if (!isRight(value)) throw new TypeError(`concatPrompt needs ${name}, ${wanted}, got ${show(value)}`)
  }
  return concatUnchecked(input)
}

type Rule = readonly [isRight: (value: unknown) => boolean, wanted: string]
const anObject: Rule = [isRecord, 'an object']
const rules: Record<keyof ConcatPromptInput, Rule> = {
  prompts: [Array.isArray, 'a list of pieces such as { id, text }'],
  messages: [Array.isArray, 'a list of messages'],
  hooks: [
    (value) => isRecord(value) && typeof value.waterfall === 'function',
    'what createPluginHooks(plugins, onError) gives',
  ],
  agentFrameworkContext: [isRecord, 'an object with agent, agentDef and isCancelled()'],
  metadata: anObject,
  actions: anObject,
  contextWindowSize: [(value) => value === undefined || typeof value === 'number', 'a number of tokens, or none'],
}
