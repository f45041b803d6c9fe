import { deepestJson, isPoison, mostJsonNodes } from '../definitions/json-size.ts'

/** A copy of foreign JSON without names that reach a prototype, and its text. Undefined for what is too large, too deep or no JSON. */
export function withoutPoison(value: unknown): { readonly value: unknown; readonly json: string } | undefined {
  let nodes = 0
  function copied(inner: unknown, depth: number): unknown {
    if (++nodes > mostJsonNodes || depth > deepestJson) throw tooMuch
    if (Array.isArray(inner)) {
      if (inner.length > mostJsonNodes) throw tooMuch
      return inner.map((one) => copied(one, depth + 1))
    }
    if (typeof inner !== 'object' || inner === null) return inner
    const copy: Record<string, unknown> = {}
    for (const [key, one] of Object.entries(inner)) if (!isPoison(key, one)) copy[key] = copied(one, depth + 1)
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
