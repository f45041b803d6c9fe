const deepestSchema = 64
const mostSchemaNodes = 10_000
const mostSchemaCharacters = 256 * 1024

/**
 * Why a value is more than a schema may be, or not JSON. It looks no further than it may: whatever it is given, it takes
 * at most as many steps as there may be nodes.
 */
export function boundsProblem(value: unknown): string | undefined {
  let nodes = 0
  let characters = 0
  const waiting: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 1 }]
  for (let top = waiting.pop(); top; top = waiting.pop()) {
    const { value: inner, depth } = top
    if (++nodes > mostSchemaNodes) return tooMany
    if (typeof inner === 'string') characters += inner.length
    else if (typeof inner === 'object' && inner !== null) {
      if (depth > deepestSchema) return `it is more than ${deepestSchema} levels deep`
      if (Array.isArray(inner) && inner.length > mostSchemaNodes) return tooMany
      for (const key in inner) {
        if (!Object.hasOwn(inner, key)) continue
        if (key === '__proto__') return 'it has a part named "__proto__"'
        if (!Array.isArray(inner)) characters += key.length
        // What waits counts too: a list of millions must not be copied to find that it is too long.
        if (nodes + waiting.length > mostSchemaNodes) return tooMany
        waiting.push({ value: (inner as Record<string, unknown>)[key], depth: depth + 1 })
      }
    } else if (!isPlain(inner)) return 'it is not JSON'
    if (characters > mostSchemaCharacters) return `it has more than ${mostSchemaCharacters} characters`
  }
  return undefined
}

const tooMany = `it has more than ${mostSchemaNodes} parts`

const isPlain = (value: unknown): boolean =>
  value === null || value === undefined || typeof value === 'boolean' || Number.isFinite(value)
