/** The version of the format that we write, and the newest that we read. */
export const exportVersion = 1

/** The texts of all fields named `blob`, which is how an entry names one. */
export function* blobNamesIn(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (key === 'blob' && typeof inner === 'string') yield inner
    else yield* blobNamesIn(inner)
  }
}

/** A copy in which blobs have other names. */
export function renameBlobs<T>(value: T, names: ReadonlyMap<string, string>): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((inner) => renameBlobs(inner, names)) as T
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const name = key === 'blob' && typeof inner === 'string' ? names.get(inner) : undefined
      return [key, name ?? renameBlobs(inner, names)]
    }),
  ) as T
}

/** Works without Node, a piece at a time: a call takes only so many arguments. */
export function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(binary)
}

/** `undefined` for what is no base64. */
export function fromBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
  } catch {
    return undefined
  }
}

/** Whole lines out of text that comes in any pieces; the last one may lack its end. */
export async function* linesOf(text: string | AsyncIterable<string>): AsyncGenerator<string> {
  let rest = ''
  for await (const piece of typeof text === 'string' ? [text] : text) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}
