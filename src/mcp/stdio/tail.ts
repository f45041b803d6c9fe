/** The end of a byte stream, in constant memory. */
interface Tail {
  add(bytes: Uint8Array): void
  /** Without half a character at its beginning. */
  text(): string
}

/** Keeps the last `mostBytes` bytes in a ring buffer. */
export function createTail(mostBytes: number): Tail {
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

    text() {
      if (!ring) return ''
      if (!isFull) return ring.toString('utf8', 0, at)
      return Buffer.concat([ring.subarray(at), ring.subarray(0, at)])
        .toString('utf8')
        .replace(/^\ufffd+/, '')
    },
  }
}
