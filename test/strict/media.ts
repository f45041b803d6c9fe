/** The real type of an image or document, from its first bytes. */
export function typeOf(base64: string): string | undefined {
  const head = Buffer.from(base64.slice(0, 64), 'base64').toString('latin1')
  return signs.find(([sign]) => sign.test(head))?.[1]
}

const signs: readonly (readonly [RegExp, string])[] = [
  [/^.PNG\r\n/s, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
  [/%PDF-/, 'application/pdf'],
]

/** Looks for a wrong character: a pattern for the whole text may run out of stack. */
export const isBase64 = (data: unknown): data is string =>
  typeof data === 'string' &&
  data !== '' &&
  data.length % 4 === 0 &&
  !/[^A-Za-z0-9+/]/.test(data.slice(0, -2)) &&
  /^(?:[A-Za-z0-9+/]{2}|[A-Za-z0-9+/]=|==)$/.test(data.slice(-2))

/** Width and height of a PNG. */
export function pixelsOf(base64: string): readonly [number, number] {
  const head = Buffer.from(base64.slice(0, 64), 'base64')
  return head.length >= 24 ? [head.readUInt32BE(16), head.readUInt32BE(20)] : [0, 0]
}

/** The parts of a data URL. */
export function dataUrl(url: unknown): { type: string; data: string } | undefined {
  const [, type, data] = /^data:([^;,]+);base64,(.*)$/s.exec(String(url).slice(0, 64)) ?? []
  if (type === undefined || data === undefined) return undefined
  return { type, data: String(url).slice(`data:${type};base64,`.length) }
}
