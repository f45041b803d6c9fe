/** Whether every service accepts this text: no lone surrogates, and no NUL. */
export const isClean = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

export const cleaned = (text: string): string =>
  isClean(text) ? text : text.toWellFormed().replaceAll('\0', '\u{fffd}')

/** Whether every key and string inside a value is clean. The caller bounds its depth. */
export function isCleanJson(value: unknown): boolean {
  if (typeof value === 'string') return isClean(value)
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isCleanJson)
  return Object.entries(value).every(([key, inner]) => isClean(key) && isCleanJson(inner))
}

/** A copy in which every string is clean. */
export function cleanedJson<T>(value: T): T {
  return mapped(value) as T
}

function mapped(value: unknown): unknown {
  if (typeof value === 'string') return cleaned(value)
  if (Array.isArray(value)) return value.map(mapped)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [cleaned(key), mapped(inner)]))
}
