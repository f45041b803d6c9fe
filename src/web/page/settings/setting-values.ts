export interface Setting {
  readonly key: string
  readonly value: unknown
  /** Where it comes from, in words. */
  readonly from: string
}

/** The settings in an answer of the server. Another host than `libero serve` may tell them in its own form. */
export function settingsIn(answer: unknown): {
  readonly settings: readonly Setting[]
  readonly warnings: readonly string[]
} {
  const { settings = answer, warnings = [] } = (answer ?? {}) as { settings?: object; warnings?: readonly string[] }
  const list = Object.entries((settings ?? {}) as Record<string, unknown>).map(([key, entry]) => {
    const isTold = typeof entry === 'object' && entry !== null && 'from' in entry
    const { value, from } = isTold ? (entry as { value?: unknown; from?: unknown }) : { value: entry, from: '' }
    return { key, value, from: String(from) }
  })
  return { settings: list, warnings }
}

/** What a person wrote: JSON if it is some, else the text itself. Empty takes the setting back. */
export function readValue(text: string): unknown {
  if (text.trim() === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return text.trim()
  }
}
