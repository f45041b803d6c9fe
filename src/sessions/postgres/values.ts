import { StoreError } from '../../core/errors.ts'

/** An index of Postgres takes two names of this size, and no more. */
const longestName = 1200

/** Any string as text that Postgres can hold: what it cannot (NUL, half a surrogate pair) is escaped as in JSON. */
export const toText = (text: string): string => JSON.stringify(text).slice(1, -1)

export const fromText = (text: string): string => parsed(`"${text}"`) as string

/** As `toText`, for what is looked up. */
export function toName(name: string, what: string): string {
  const text = toText(name)
  const size = new TextEncoder().encode(text).length
  if (size > longestName)
    throw new TypeError(
      `The ${what} "${name.slice(0, 40)}…" has ${size} bytes; a Postgres store takes at most ${longestName}, so choose a shorter one`,
    )
  return text
}

/** A list as Postgres writes it, so that no driver has to know the type of a list. */
export const toList = (texts: readonly string[]): string =>
  `{${texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join(',')}}`

/** What was stored as JSON. */
export function parsed(json: unknown): unknown {
  try {
    return JSON.parse(String(json))
  } catch (error) {
    throw new StoreError(
      'corrupt',
      `The Postgres store holds a row that is not JSON (${String(json).slice(0, 60)}); restore it from a backup`,
      { cause: error },
    )
  }
}
