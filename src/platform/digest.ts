import { createHash } from 'node:crypto'
import type { OpenFile } from '../core/execution.ts'

/** Beyond this a file is known by its stamp: reading all of it to name it would cost more than it is worth. */
const mostHashed = 16 * 1024 * 1024
const chunk = 1024 * 1024

/** Equal for equal content. */
export function digestOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

/** The digest of a whole open file. Equal to `digestOf` its bytes, except for files that are too big to read for that. */
export async function digestOfFile({ info, read }: OpenFile): Promise<string> {
  if (info.size > mostHashed) return `stamp ${info.stamp}`
  const hash = createHash('sha256')
  for (let position = 0; ; ) {
    const bytes = await read(position, chunk)
    if (bytes.length === 0) return hash.digest('hex')
    hash.update(bytes)
    position += bytes.length
  }
}
