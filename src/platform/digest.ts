import { createHash } from 'node:crypto'
import type { OpenFile } from '../core/execution.ts'
import { visibleName } from './visible-text.ts'

/** Larger files are identified by their stamp, because to hash them takes too long. */
const maxHashedBytes = 16 * 1024 * 1024
const chunk = 1024 * 1024

/** The SHA-256 of a text or bytes. */
export function digestOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

/** Identifies the content of an open file: the digest of its bytes or, for a very large file, `stamp …`. Logs call both `digest`. */
export async function contentIdOf({ info, read }: OpenFile): Promise<string> {
  if (info.size > maxHashedBytes) return `stamp ${info.stamp}`
  const hash = createHash('sha256')
  for (let position = 0; ; ) {
    const bytes = await read(position, chunk)
    if (bytes.length === 0) return hash.digest('hex')
    hash.update(bytes)
    position += bytes.length
  }
}

/** An approval key if it is short and printable, else its digest. */
export function boundedKey(key: string): string {
  const isPlain = key !== '' && visibleName(key) === key && new TextEncoder().encode(key).length <= 1024
  return isPlain ? key : `sha256:${digestOf(key)}`
}
