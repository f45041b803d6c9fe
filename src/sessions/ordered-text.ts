/**
 * Encodes an id or another short text for a database, so that encoded texts, which it compares by their UTF-8 bytes, are
 * ordered like the texts by UTF-16 units, and begin alike if the texts do. Almost all stay as they are. A database cannot
 * store NUL or a lone surrogate, and orders the characters after the surrogates differently: each of these units becomes two
 * characters.
 */
export function encodeText(text: string): string {
  if (isPlain(text)) return text
  let encoded = ''
  for (let i = 0; i < text.length; i++) encoded += encodeUnit(text.charCodeAt(i))
  return encoded
}

/** Decodes the text that `encodeText` wrote. */
export function decodeText(encoded: string): string {
  if (isPlain(encoded)) return encoded
  let text = ''
  for (let i = 0; i < encoded.length; i++) {
    const unit = encoded.charCodeAt(i)
    text += String.fromCharCode(
      isPlainUnit(unit) ? unit : encoded.charCodeAt(++i) - 1 + (unit === lowMark ? 0 : highMark),
    )
  }
  return text
}

/** Stand before the units up to `lowMark` and from `highMark` on. */
const lowMark = 0x0001
const highMark = 0xd7ff

const isPlainUnit = (unit: number): boolean => unit > lowMark && unit < highMark

function isPlain(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (!isPlainUnit(text.charCodeAt(i))) return false
  return true
}

function encodeUnit(unit: number): string {
  if (isPlainUnit(unit)) return String.fromCharCode(unit)
  return unit > lowMark ? String.fromCharCode(highMark, unit - highMark + 1) : String.fromCharCode(lowMark, unit + 1)
}

/** The first text after all encoded texts that begin with `encoded`. */
export const endOfPrefix = (encoded: string): string => `${encoded}\uffff`
