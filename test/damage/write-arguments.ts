/** How arguments are written; by default as JSON with spaces. */
export interface Style {
  readonly string?: (text: string) => string
  readonly key?: (text: string) => string
  readonly number?: (value: number) => string
  readonly words?: readonly [yes: string, no: string, none: string]
  readonly comma?: () => string
  readonly lastComma?: string
  readonly list?: readonly [open: string, close: string]
  /** Of strings that are the value of a property. */
  readonly propertyString?: (text: string) => string
}

/** Writes a value in a style. */
export function write(value: unknown, style: Style = {}): string {
  const { string = JSON.stringify, key = string, number = String, comma = () => ', ', lastComma = '' } = style
  const { words = ['true', 'false', 'null'], list = ['[', ']'], propertyString = string } = style
  const inOrder = (parts: readonly string[]): string => {
    const joined = parts.reduce((all, part, i) => (i === 0 ? part : all + comma() + part), '')
    return parts.length === 0 ? '' : joined + lastComma
  }
  const of = (inner: unknown, asString = string): string => {
    if (typeof inner === 'string') return asString(inner)
    if (typeof inner === 'number') return number(inner)
    if (inner === null) return words[2]
    if (typeof inner === 'boolean') return inner ? words[0] : words[1]
    if (Array.isArray(inner)) return list[0] + inOrder(inner.map((item) => of(item))) + list[1]
    return `{${inOrder(Object.entries(inner as object).map(([name, item]) => `${key(name)}: ${of(item, propertyString)}`))}}`
  }
  return of(value)
}

/** A string between other quotes; only what must be is escaped. */
export const quotedWith =
  (open: string, close = open) =>
  (text: string): string => {
    const plain = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"')
    return open + plain.replaceAll(close, close === '"' || close === "'" ? `\\${close}` : close) + close
  }

/** A string as Python's `repr` writes it. */
export const pythonString = (text: string): string =>
  text.includes("'") && !text.includes('"') ? quotedWith('"')(text) : quotedWith("'")(text)
