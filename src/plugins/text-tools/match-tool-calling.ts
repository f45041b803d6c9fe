import { scan } from './call-scanner.ts'
import { inputOf, readParameters } from './read-parameters.ts'
import type { ScannedCall } from './text-call-pattern.ts'
import { allPatterns, type TextCallPattern } from './text-call-pattern.ts'

/** A call in the text of an answer. */
export interface TextToolCall {
  readonly toolId: string
  readonly parameters: Readonly<Record<string, unknown>>
  /** Why the parameters could not be read; then `parameters` has the beginning of their text, and the call would not run. */
  readonly unreadable?: string
  /** The text of the call, with its tags. */
  readonly originalText: string
}

/** The first call in a text, with forms in addition to `<tool_use>` and `<function_call>`. Runs nothing. */
export function matchToolCalling(
  text: string,
  options?: { readonly patterns?: readonly TextCallPattern[] },
): TextToolCall | undefined {
  return matchAllToolCallings(text, options).calls[0]
}

/** All calls in a text, and whether the model put some of them into `<parallel_tool_calls>`. */
export function matchAllToolCallings(
  text: string,
  { patterns }: { readonly patterns?: readonly TextCallPattern[] } = {},
): { calls: TextToolCall[]; parallel: boolean } {
  if (typeof text !== 'string') throw new TypeError(`calls are looked for in a text, got ${typeof text}`)
  const scanned = scan(text, { patterns: allPatterns(patterns) })
  const answer = scanned.slice(scanned.findLastIndex(({ type }) => type === 'thought') + 1)
  const found = answer.flatMap((one) => (one.type === 'call' ? [one.call] : []))
  return { calls: found.map(callOf), parallel: found.some(({ isParallel }) => isParallel) }
}

function callOf({ name, words, nameIn }: ScannedCall): TextToolCall {
  const { text, read } = readParameters(words[1], nameIn)
  const call = { toolId: name, originalText: words.join('') }
  if (read.problem === undefined) return { ...call, parameters: read.value }
  return { ...call, parameters: inputOf(text), unreadable: read.problem }
}
