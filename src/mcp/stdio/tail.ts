/** The end of a stream of bytes; memory stays the same however much came. */
export interface Tail {
  add(bytes: Uint8Array): void
  /** Letters that were cut in two at the beginning are left out. */
  text(): string
}

/** Keeps the last so many bytes, in a ring. */
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
