/** The end of a byte stream, in constant memory. */
interface Tail {
  add(bytes: Uint8Array): void
  /** The last `textBytes` bytes without half a character at their beginning, and what was written just before them. */
  parts(): [before: string, text: string]
}

/**
 * Keeps the last bytes in a ring buffer: the `textBytes` that are shown, and `beforeBytes` before them, in which a reader
 * recognises what the cut splits.
 */
export function createTail(textBytes: number, beforeBytes: number): Tail {
  const mostBytes = textBytes + beforeBytes
  let ring: Buffer | undefined
  let at = 0
  let isFull = false

  return {
    add(bytes) {
      if (bytes.length === 0) return
      ring ??= Buffer.alloc(mostBytes)
      const last = bytes.subarray(Math.max(0, bytes.length - mostBytes))
      const first = Math.min(last.length, mostBytes - at)
      ring.set(last.subarray(0, first), at)
      ring.set(last.subarray(first), 0)
      isFull ||= at + last.length >= mostBytes
      at = (at + last.length) % mostBytes
    },

    parts() {
      if (!ring) return ['', '']
      const all = isFull ? Buffer.concat([ring.subarray(at), ring.subarray(0, at)]) : ring.subarray(0, at)
      let cut = Math.max(0, all.length - textBytes)
      const isCut = isFull || cut > 0
      while (isCut && isInsideCharacter(all[cut])) cut++
      return [all.toString('utf8', 0, cut), all.toString('utf8', cut)]
    },
  }
}

const isInsideCharacter = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80
