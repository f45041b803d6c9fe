import { byteLength, headBytes } from '../../core/text.ts'

/** Bounds on the JSON of calls and answers, so that code can walk it. */
const mostJsonNodes = 100_000
const deepestJson = 100

/** Why the JSON of a call or an answer is refused: it is too large, or has a key that reaches a prototype. */
export const jsonProblem = (value: unknown): string | undefined =>
  boundsProblem(value, {
    depth: deepestJson,
    nodes: mostJsonNodes,
    characters: 1024 * 1024,
    keyProblem: (key, inner) => (isPrototypeKey(key, inner) ? ', which is never passed on' : undefined),
  })

export interface JsonBounds {
  readonly depth: number
  readonly nodes: number
  readonly characters: number
  /** Why a key is refused: the end of a sentence about it. */
  keyProblem(key: string, value: unknown): string | undefined
  /** Refuses values that are no JSON, such as functions. */
  readonly mustBeJson?: boolean
}

/** Why a value exceeds bounds. The number of steps is bounded for any value. */
export function boundsProblem(value: unknown, bounds: JsonBounds): string | undefined {
  const tooMany = `it has more than ${bounds.nodes} parts`
  let nodes = 0
  let characters = 0
  const waiting: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 1 }]
  for (let top = waiting.pop(); top; top = waiting.pop()) {
    const { value: inner, depth } = top
    if (++nodes > bounds.nodes) return tooMany
    if (typeof inner === 'string') characters += inner.length
    else if (typeof inner === 'object' && inner !== null) {
      if (depth > bounds.depth) return `it is more than ${bounds.depth} levels deep`
      if (Array.isArray(inner) && inner.length > bounds.nodes) return tooMany
      for (const key in inner) {
        if (!Object.hasOwn(inner, key)) continue
        // Waiting values count too, so that a list of millions is not copied.
        if (nodes + waiting.length > bounds.nodes) return tooMany
        const part = (inner as Record<string, unknown>)[key]
        const problem = bounds.keyProblem(key, part)
        if (problem !== undefined) return `it has a part named "${key}"${problem}`
        if (!Array.isArray(inner)) characters += key.length
        waiting.push({ value: part, depth: depth + 1 })
      }
    } else if (bounds.mustBeJson && !isPlain(inner)) return 'it is not JSON'
    if (characters > bounds.characters) return `it has more than ${bounds.characters} characters`
  }
  return undefined
}

const isPlain = (value: unknown): boolean =>
  value === null || value === undefined || typeof value === 'boolean' || Number.isFinite(value)

/** A key that reaches the prototype of an object it is merged into. A text named `constructor` is harmless. */
function isPrototypeKey(key: string, value: unknown): boolean {
  if (key === '__proto__') return true
  return (key === 'constructor' || key === 'prototype') && typeof value === 'object' && value !== null
}

/** The length of the longest list inside a value that passed `jsonProblem`. */
export function longestArray(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let longest = Array.isArray(value) ? value.length : 0
  for (const inner of Object.values(value)) longest = Math.max(longest, longestArray(inner))
  return longest
}

/** A copy of untrusted JSON without prototype keys, and its text. Undefined for a value that is too large, too deep or no JSON. */
export function withoutPrototypeKeys(value: unknown): { readonly value: unknown; readonly json: string } | undefined {
  let nodes = 0
  function copied(inner: unknown, depth: number): unknown {
    if (++nodes > mostJsonNodes || depth > deepestJson) throw tooMuch
    if (Array.isArray(inner)) {
      if (inner.length > mostJsonNodes) throw tooMuch
      return inner.map((one) => copied(one, depth + 1))
    }
    if (typeof inner !== 'object' || inner === null) return inner
    const copy: Record<string, unknown> = {}
    for (const [key, one] of Object.entries(inner)) if (!isPrototypeKey(key, one)) copy[key] = copied(one, depth + 1)
    return copy
  }
  try {
    const copy = copied(value, 1)
    const json = JSON.stringify(copy)
    return json === undefined ? undefined : { value: copy, json }
  } catch {
    return undefined
  }
}

const tooMuch = new RangeError('too much')

/** A text of at most `most` bytes, with a mark if it was cut. */
export function cutBytes(text: string, most: number): string {
  const size = byteLength(text)
  return size <= most ? text : `${headBytes(text, most).toWellFormed()}… [cut: ${size} bytes in all]`
}
