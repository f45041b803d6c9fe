import { byteLength, headBytes } from '../../core/text.ts'

/** Bounds on the JSON of calls and answers, so that code can walk it. */
const mostJsonNodes = 100_000
const mostJsonCharacters = 1024 * 1024
const deepestJson = 100

/** Why JSON is refused: it is too large, or has a key that reaches a prototype. */
export function jsonProblem(value: unknown): string | undefined {
  let nodes = 0
  let characters = 0
  const waiting: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 1 }]
  for (let top = waiting.pop(); top; top = waiting.pop()) {
    const { value: inner, depth } = top
    nodes++
    if (typeof inner === 'string') characters += inner.length
    else if (typeof inner === 'object' && inner !== null) {
      if (depth > deepestJson) return `it is more than ${deepestJson} levels deep`
      // Checked before its entries are listed, which would copy a list of millions.
      if (Array.isArray(inner) && inner.length > mostJsonNodes) return tooMany
      for (const [key, one] of Object.entries(inner)) {
        if (isPrototypeKey(key, one)) return `it has a part named "${key}", which is never passed on`
        characters += Array.isArray(inner) ? 0 : key.length
        waiting.push({ value: one, depth: depth + 1 })
      }
    }
    if (nodes + waiting.length > mostJsonNodes) return tooMany
    if (characters > mostJsonCharacters) return `it has more than ${mostJsonCharacters} characters`
  }
  return undefined
}

const tooMany = `it has more than ${mostJsonNodes} parts`

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
