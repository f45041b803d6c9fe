import { crc32 } from 'node:zlib'

/** A value as it is kept: SQLite itself does not notice when a byte of a text changed. */
export interface Sealed {
  readonly body: string
  readonly sum: number
}

/** The checksum of a text that belongs to a session, so that a row that strayed into another one is noticed. */
export const sumOf = (body: string, session: number): number => crc32(body, session >>> 0)

/** The value again, or undefined where it is not what was written. */
export function unseal(row: Sealed, session: number): unknown {
  if (sumOf(row.body, session) !== row.sum) return undefined
  try {
    return JSON.parse(row.body)
  } catch {
    return undefined
  }
}
