/** A body up to `most` bytes; undefined when there is more, of which no more is read. */
export async function readCapped(
  body: ReadableStream<Uint8Array> | null,
  most: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (!body) return new Uint8Array()
  const reader = body.getReader()
  const parts: Uint8Array[] = []
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return joined(parts, size)
    size += value.byteLength
    if (size > most) {
      reader.cancel().catch(() => {}) // what is already broken need not be closed
      return undefined
    }
    parts.push(value)
  }
}

/** Drops a body that nobody reads, so that its connection is free. */
export function dropBody({ body }: { readonly body: ReadableStream | null }): void {
  if (body && !body.locked) body.cancel().catch(() => {})
}

export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
}

export async function sha256Hex(content: Uint8Array<ArrayBuffer> | string): Promise<string> {
  const digest = await sha256(typeof content === 'string' ? new TextEncoder().encode(content) : content)
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** As the header `Repr-Digest` (RFC 9530) has it. */
export async function reprDigestOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return `sha-256=:${btoa(String.fromCharCode(...(await sha256(bytes))))}:`
}

function joined(parts: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.byteLength
  }
  return whole
}
