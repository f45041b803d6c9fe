import { isUtf8 } from 'node:buffer'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { codeOf } from '../core/errors.ts'

interface SmallTextOptions {
  readonly mostBytes: number
  /** Whether symbolic links are followed. */
  readonly links: 'followed' | 'refused'
  /**
   * The error to throw if the file cannot be read, by code: that of opening it, or `EISDIR`, `EFTYPE` (no regular file),
   * `EFBIG`, `EILSEQ` (not UTF-8).
   */
  readonly refuse: (code: string, error?: unknown) => Error
}

/** The text of a small file that is written by hand; undefined if there is none. Never hangs, whatever the path is. */
export async function readSmallText(
  path: string,
  { mostBytes, links, refuse }: SmallTextOptions,
): Promise<string | undefined> {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
  const flags = O_RDONLY | O_NONBLOCK | (links === 'refused' ? O_NOFOLLOW : 0)
  const handle = await open(path, flags).catch((error: unknown) => {
    const code = codeOf(error) ?? 'unknown'
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw refuse(code, error)
  })
  if (!handle) return undefined
  try {
    const info = await handle.stat()
    if (!info.isFile()) throw refuse(info.isDirectory() ? 'EISDIR' : 'EFTYPE')
    const buffer = Buffer.alloc(Math.min(info.size, mostBytes) + 1)
    let length = 0
    for (let read = 1; read > 0 && length < buffer.length; length += read)
      read = (await handle.read(buffer, length, buffer.length - length)).bytesRead
    if (length > mostBytes) throw refuse('EFBIG')
    const bytes = buffer.subarray(0, length)
    // Replacement characters would change the meaning of a setting.
    if (!isUtf8(bytes)) throw refuse('EILSEQ')
    return new TextDecoder().decode(bytes)
  } finally {
    await handle.close()
  }
}
