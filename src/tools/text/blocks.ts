import type { OpenFile } from '../../core/execution.ts'

/** How much of a file is held at a time. */
export const blockSize = 1024 * 1024

/** The same file, read in whole blocks, of which the last is kept: a small file is read once, whoever asks how often. */
export function inBlocks(file: OpenFile, signal: AbortSignal): OpenFile {
  let at = -1
  let block: Uint8Array = new Uint8Array()

  async function blockAt(start: number): Promise<Uint8Array> {
    if (start === at) return block
    signal.throwIfAborted()
    block = await file.read(start, blockSize)
    at = start
    return block
  }

  return {
    info: file.info,
    close: () => file.close(),
    async read(position, length) {
      const parts: Uint8Array[] = []
      while (length > 0) {
        const start = position - (position % blockSize)
        const part = (await blockAt(start)).subarray(position - start, position - start + length)
        if (part.length === 0) break
        parts.push(part)
        position += part.length
        length -= part.length
      }
      return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    },
  }
}
