/** Whether every service takes this text: no half characters, and no NUL, which some refuse and none needs. */
export const isClean = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

export const cleaned = (text: string): string =>
  isClean(text) ? text : text.toWellFormed().replaceAll('\0', '\u{fffd}')

/** The same for every name and string inside a value, whose depth is bounded. */
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
