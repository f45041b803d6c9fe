/**
 * An id or a key as SQLite can hold it and find it again. Almost all stay what they are; those with half a surrogate
 * pair or a NUL, which SQLite's text cannot hold, are written as JSON, and so are those that would look like that.
 */
export function textOfKey(key: string): string {
  return key.startsWith('"') || !key.isWellFormed() || key.includes('\0') ? JSON.stringify(key) : key
}

/** The id or key that `textOfKey` wrote. What it never wrote stays as it is. */
export function keyOfText(text: string): string {
  if (!text.startsWith('"')) return text
  try {
    return String(JSON.parse(text))
  } catch {
    return text
  }
}
