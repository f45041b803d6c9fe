/** No honest call or answer has more, and everything that walks one may then do so. */
export const mostJsonNodes = 100_000
const mostJsonCharacters = 1024 * 1024
export const deepestJson = 100

/** Why a value is not JSON that may be checked: too much of it, or names that change objects in careless hands. */
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
      // Before it is taken apart: the parts of a list of millions are more than the list.
      if (Array.isArray(inner) && inner.length > mostJsonNodes) return tooMany
      for (const [key, one] of Object.entries(inner)) {
        if (isPoison(key, one)) return `it has a part named "${key}", which is never passed on`
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

/**
 * A name that reaches the prototype of an object that somebody merges it into. A text named `constructor` cannot; there
 * are tools about those of racing cars.
 */
export function isPoison(key: string, value: unknown): boolean {
  if (key === '__proto__') return true
  return (key === 'constructor' || key === 'prototype') && typeof value === 'object' && value !== null
}

/** The number of items in the longest list inside a value that `jsonProblem` has seen. */
export function longestArray(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let longest = Array.isArray(value) ? value.length : 0
  for (const inner of Object.values(value)) longest = Math.max(longest, longestArray(inner))
  return longest
}
