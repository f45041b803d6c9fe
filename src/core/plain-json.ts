import { isRecord } from './is-record.ts'

/** The greatest nesting depth of outside values. It makes recursive functions safe, and no real tool needs more. */
export const maxNesting = 100

export type JsonFlaw = 'too deep' | 'malformed text' | 'no number'

/** The first flaw in a value from outside. Stops at `maxNesting`, so that no value can overflow the stack. */
export function flawOf(value: object, depth = 1): JsonFlaw | undefined {
  if (depth > maxNesting) return 'too deep'
  let flaw: JsonFlaw | undefined
  for (const key in value) {
    const inner = (value as Record<string, unknown>)[key]
    if (!key.isWellFormed() || (typeof inner === 'string' && !inner.isWellFormed())) flaw ??= 'malformed text'
    // JSON can contain numbers that become infinite, and those cannot be written as JSON again.
    if (typeof inner === 'number' && !Number.isFinite(inner)) flaw = 'no number'
    if (typeof inner !== 'object' || inner === null) continue
    const innerFlaw = flawOf(inner, depth + 1)
    if (innerFlaw === 'too deep') return innerFlaw
    if (innerFlaw === 'no number' || !flaw) flaw = innerFlaw ?? flaw
  }
  return flaw
}

/** Replaces lone surrogates. Once in the log, they would make every provider refuse every further request. */
export const wellFormed = (text: string): string => (text.isWellFormed() ? text : text.toWellFormed())

/** A copy of a value with `wellFormed` strings. */
export function wellFormedJson<T>(value: T): T {
  return mapStrings(value) as T
}

function mapStrings(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(mapStrings)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key.toWellFormed(), mapStrings(inner)]))
}

/** Whether a value is an object of plain data: no dates, no instances, no functions. */
export function isPlainJson(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && isPlain(value, 1)
}

function isPlain(value: unknown, depth: number): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || value === undefined) return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || depth > maxNesting) return false
  const prototype = Object.getPrototypeOf(value) as unknown
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return false
  return Object.values(value).every((inner) => isPlain(inner, depth + 1))
}

/** A value as the log can store it: a `Date` becomes a text; values without JSON are left out. */
export function asJson(value: unknown): unknown {
  try {
    const text = JSON.stringify(value) as string | undefined
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The type of a value in terms of JSON Schema. */
export function typeName(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** The value of a JSON text; `undefined` if it is not JSON. The parser's error is dropped: it quotes the text, which may contain secrets. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
