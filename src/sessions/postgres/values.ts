import { StoreError } from '../../core/errors.ts'
import { encodeText } from '../ordered-text.ts'

/** An index of Postgres holds at most two names of this size. */
export const maxNameBytes = 1200

/** Escapes characters that Postgres cannot store (NUL, a lone surrogate) as in JSON. */
export const toText = (text: string): string => JSON.stringify(text).slice(1, -1)

export const fromText = (text: string): string => parseStored(`"${text}"`) as string

/** Like `toText`, for keys that are indexed. */
export const toKey = (key: string): string => bounded(key, toText(key), 'client key')

/** Encodes an id of a session; `encodeText` with a limit. */
export const toId = (id: string): string => bounded(id, encodeText(id), 'session id')

function bounded(name: string, text: string, what: string): string {
  const size = byteLength(text)
  if (size > maxNameBytes)
    throw new TypeError(
      `The ${what} "${name.slice(0, 40)}…" has ${size} bytes; a Postgres store takes at most ${maxNameBytes}, so choose a shorter one`,
    )
  return text
}

export const byteLength = (text: string): number => new TextEncoder().encode(text).length

/** An array literal of Postgres, so that the driver need not know the array type. */
export const toList = (values: readonly (string | number | boolean | null)[]): string =>
  `{${values.map((value) => (value === null ? 'NULL' : `"${String(value).replace(/["\\]/g, '\\$&')}"`)).join(',')}}`

/** Parses stored JSON. */
export function parseStored(json: unknown): unknown {
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
