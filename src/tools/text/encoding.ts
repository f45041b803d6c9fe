/** How the bytes of a text file are to be read. */
export interface Encoding {
  readonly name: 'utf-8' | 'utf-16le' | 'utf-16be'
  /** Bytes at the beginning that only say which encoding it is. */
  readonly bom: number
}

/** How much of a file is looked at to tell text from other things. */
export const sniffedBytes = 8192

/** The encoding of a text by its first bytes; `undefined` when it is no text that can be shown. */
export function encodingOf(head: Uint8Array): Encoding | undefined {
  const start = head.subarray(0, sniffedBytes)
  const [a, b, c, d] = start
  const isUtf32 = a === 0xff && b === 0xfe && c === 0 && d === 0
  if (a === 0xff && b === 0xfe && !isUtf32) return { name: 'utf-16le', bom: 2 }
  if (a === 0xfe && b === 0xff) return { name: 'utf-16be', bom: 2 }
  if (start.includes(0)) return undefined
  const encoding: Encoding = { name: 'utf-8', bom: a === 0xef && b === 0xbb && c === 0xbf ? 3 : 0 }
  return isMostlyUnreadable(decode(start, encoding, { cut: true })) ? undefined : encoding
}

/** Text out of bytes that begin at a character. Where they are `cut` off, a character that is not complete is dropped. */
export function decode(bytes: Uint8Array, { name }: Encoding, { cut = false } = {}): string {
  return new TextDecoder(name, { ignoreBOM: true }).decode(bytes, { stream: cut })
}

/** Counts U+FFFD, whether it was decoded from nonsense or stood there: contexts that give text have decoded it before us. */
function isMostlyUnreadable(text: string): boolean {
  let unreadable = 0
  for (let at = text.indexOf('\ufffd'); at >= 0; at = text.indexOf('\ufffd', at + 1)) unreadable++
  return unreadable > 3 && unreadable > text.length / 10
}
