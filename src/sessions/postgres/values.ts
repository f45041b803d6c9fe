import { StoreError } from '../../core/errors.ts'

/** An index of Postgres holds at most two names of this size. */
export const maxNameBytes = 1200

/** Escapes characters that Postgres cannot store (NUL, a lone surrogate) as in JSON. */
export const toText = (text: string): string => JSON.stringify(text).slice(1, -1)

export const fromText = (text: string): string => parseStored(`"${text}"`) as string

/** Like `toText`, for keys that are indexed. */
export const toKey = (key: string): string => bounded(key, toText(key), 'client key')

/** Encodes an id of a session; `encodeId` with a limit. */
export const toId = (id: string): string => bounded(id, encodeId(id), 'session id')

function bounded(name: string, text: string, what: string): string {
  const size = byteLength(text)
  if (size > maxNameBytes)
    throw new TypeError(
      `The ${what} "${name.slice(0, 40)}…" has ${size} bytes; a Postgres store takes at most ${maxNameBytes}, so choose a shorter one`,
    )
  return text
}

export const byteLength = (text: string): number => new TextEncoder().encode(text).length

/**
 * Encodes a text so that the encoded texts, compared by their UTF-8 bytes, are in the order of the texts by UTF-16 units, and
 * begin alike if the texts do. Almost all stay as they are. Postgres cannot store NUL or a lone surrogate, and orders the
 * characters after the surrogates differently: each of these units becomes two characters.
 */
export const encodeId = (id: string): string => (isPlain.test(id) ? id : id.replace(encodedUnits, encodeUnit))

export const decodeId = (text: string): string => (isPlain.test(text) ? text : text.replace(unitPairs, decodePair))

// Without the flag "u", so that surrogates are seen as single units.
// biome-ignore-start lint/suspicious/noControlCharactersInRegex: they are what this is about
const isPlain = /^[\u0002-\ud7fe]*$/
const encodedUnits = /[\0\u0001\ud7ff-\uffff]/g
const unitPairs = /[\u0001\ud7ff]([\u0001-\u2801])/g
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: see above

function encodeUnit(unit: string): string {
  const code = unit.charCodeAt(0)
  return code < 2 ? `\u0001${String.fromCharCode(code + 1)}` : `\ud7ff${String.fromCharCode(code - 0xd7fe)}`
}

function decodePair(pair: string, second: string): string {
  return String.fromCharCode(second.charCodeAt(0) + (pair.startsWith('\u0001') ? -1 : 0xd7fe))
}

/** The first text after all encoded texts that begin with `encoded`. */
export const endOfPrefix = (encoded: string): string => `${encoded}\uffff`

/** An array literal of Postgres, so that the driver need not know the array type. */
export const toList = (texts: readonly string[]): string =>
  `{${texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join(',')}}`

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
