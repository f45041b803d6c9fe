/** Bytes and their texts, on every runtime: nothing here needs Node. */

export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
}

export async function sha256Hex(content: Uint8Array<ArrayBuffer> | string): Promise<string> {
  const digest = await sha256(typeof content === 'string' ? new TextEncoder().encode(content) : content)
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** In pieces, because a call takes only a limited number of arguments. */
export function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(binary)
}

/** `undefined` if the text is not base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
  } catch {
    return undefined
  }
}
