/** The beginning of a text that is longer than so many bytes, with a mark that says so; else the text itself. */
export function shortened(text: string, most: number): string {
  const size = Buffer.byteLength(text)
  return size <= most ? text : `${headOf(text, most)}… [cut: ${size} bytes in all]`
}

/** As much from the beginning as fits; never half a character. */
export function headOf(text: string, most: number): string {
  const bytes = Buffer.from(text.slice(0, most))
  if (bytes.length <= most) return bytes.toString()
  let end = most
  while (end > 0 && isInside(bytes[end])) end--
  return bytes.toString('utf8', 0, end)
}

/** The same from the end. */
export function tailOf(text: string, most: number): string {
  const bytes = Buffer.from(text.slice(Math.max(0, text.length - most)))
  let start = Math.max(0, bytes.length - most)
  while (start < bytes.length && isInside(bytes[start])) start++
  return bytes.toString('utf8', start)
}

const isInside = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80
