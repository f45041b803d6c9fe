/** In characters, so at most three times that in bytes. */
export const mostLength = 8 * 1024 * 1024
const mostItems = 10_000

export interface Page {
  /** JSON, a list. */
  readonly text: string
  readonly count: number
  readonly isLast: boolean
}

/** As much from the beginning of a list as one answer carries: at least one, so that a reader gets on. */
export function pageOf(items: readonly unknown[]): Page {
  const parts: string[] = []
  let length = 0
  for (const item of items) {
    const part = JSON.stringify(item)
    if (parts.length > 0 && (parts.length >= mostItems || length + part.length > mostLength)) break
    parts.push(part)
    length += part.length
  }
  return { text: `[${parts.join(',')}]`, count: parts.length, isLast: parts.length === items.length }
}
