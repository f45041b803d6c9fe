/** Cutting text: never inside a character, with an ellipsis where something is missing. */

/** The beginning of a text, of at most `maxLength` UTF-16 units, without half a surrogate pair at its end. */
export function headOf(text: string, maxLength: number): string {
  const end = Math.max(maxLength, 0)
  if (text.length <= end) return text
  return text.slice(0, isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end)
}

/** The end of a text, of at most `maxLength` UTF-16 units, without half a surrogate pair at its start. */
export function tailOf(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const start = text.length - Math.max(maxLength, 0)
  return text.slice(isLowSurrogate(text.charCodeAt(start)) ? start + 1 : start)
}

/** A text of at most `maxLength` UTF-16 units; a longer one ends with "…". */
export function cutText(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${headOf(text, maxLength - 1)}…`
}

/** A text on one line, its white space collapsed, of at most `maxLength` UTF-16 units. */
export function oneLine(text: string, maxLength: number = Number.POSITIVE_INFINITY): string {
  // Of a long text only the beginning is looked at, and more of it where that is mostly white space.
  for (let most = Math.max(4 * maxLength, 64); most < text.length; most *= 4) {
    const line = collapsed(text.slice(0, most))
    if (line.length > maxLength) return cutText(line, maxLength)
  }
  return cutText(collapsed(text), maxLength)
}

const collapsed = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** The beginning of a text, of at most `maxBytes` bytes of UTF-8, whole characters only. */
export function headBytes(text: string, maxBytes: number): string {
  const buffer = new Uint8Array(Math.max(Math.min(maxBytes, text.length * 3), 0))
  return text.slice(0, new TextEncoder().encodeInto(text, buffer).read)
}

/** The end of a text, of at most `maxBytes` bytes of UTF-8, whole characters only. */
export function tailBytes(text: string, maxBytes: number): string {
  const bytes = new TextEncoder().encode(tailOf(text, maxBytes))
  let start = Math.max(bytes.length - maxBytes, 0)
  while (start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start++
  return new TextDecoder().decode(bytes.subarray(start))
}

/** The size of a text in bytes of UTF-8. Counted rather than encoded: a text may be megabytes long. */
export function byteLength(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x80) continue
    if (isHighSurrogate(code) && isLowSurrogate(text.charCodeAt(i + 1))) {
      bytes += 2
      i++
    } else bytes += code < 0x800 ? 1 : 2
  }
  return bytes
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff

/** Compares by code units, because the order of a locale differs between machines. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
