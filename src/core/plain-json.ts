/** No honest tool needs more, and everything that walks a value may then do so recursively. */
export const deepest = 100

export type JsonFlaw = 'too deep' | 'malformed text' | 'no number'

/** What is wrong inside a value that came from outside. Looks no deeper than it may: it cannot be made to overflow the stack. */
export function flawOf(value: object, depth = 1): JsonFlaw | undefined {
  if (depth > deepest) return 'too deep'
  let flaw: JsonFlaw | undefined
  for (const key in value) {
    const inner = (value as Record<string, unknown>)[key]
    if (!key.isWellFormed() || (typeof inner === 'string' && !inner.isWellFormed())) flaw ??= 'malformed text'
    // JSON can spell numbers that become infinite, but not write them again.
    if (typeof inner === 'number' && !Number.isFinite(inner)) flaw = 'no number'
    if (typeof inner !== 'object' || inner === null) continue
    const found = flawOf(inner, depth + 1)
    if (found === 'too deep') return found
    if (found === 'no number' || !flaw) flaw = found ?? flaw
  }
  return flaw
}

/** Half a surrogate pair is refused by every provider, for ever after; mend it before it is stored. */
export const wellFormed = (text: string): string => (text.isWellFormed() ? text : text.toWellFormed())

/** The same for every string inside a value, in a copy. */
export function wellFormedJson<T>(value: T): T {
  return mapStrings(value) as T
}

function mapStrings(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(mapStrings)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key.toWellFormed(), mapStrings(inner)]))
}

/** Whether a value is an object of plain data and nothing else: no dates, no instances, no functions. */
export function isPlainJson(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && isPlain(value, 1)
}

function isPlain(value: unknown, depth: number): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || value === undefined) return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || depth > deepest) return false
  const prototype = Object.getPrototypeOf(value) as unknown
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return false
  return Object.values(value).every((inner) => isPlain(inner, depth + 1))
}

/** A value as the log can keep it: a `Date` becomes a text, and what JSON cannot say is left out. */
export function asJson(value: unknown): unknown {
  try {
    const text = JSON.stringify(value) as string | undefined
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The type of a value, as JSON Schema calls it. */
export function typeName(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}
