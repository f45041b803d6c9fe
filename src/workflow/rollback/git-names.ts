/** A name in a repository, one character for each byte: names need not be UTF-8. */
export type GitName = string

/** A name as git takes it in lines: quoted, and ASCII whatever is in it. */
export function quoteName(name: GitName): string {
  return `"${name.replace(/[^ !#-[\]-~]/g, (byte) => `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`)}"`
}

/** A name from a line of git, quoted or not. */
export function unquoteName(line: string): GitName {
  if (!line.startsWith('"')) return line
  return line.slice(1, -1).replace(/\\([0-7]{3}|.)/g, (_, code: string) => letters[code] ?? byteOf(code))
}

const letters: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
}

const byteOf = (code: string): string => (code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : code)

/** For people and programs: as text, or quoted by git's rules where the bytes are no text. */
export function shownName(name: GitName): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytesOf(name))
  } catch {
    return quoteName(name)
  }
}

/** Names as a program reads them from its input, each ended by a NUL. */
export const nulNames = (names: readonly GitName[]): Uint8Array => bytesOf(names.map((name) => `${name}\0`).join(''))

/** Names from what `find … -print0 | od -An -v -tx1` printed. */
export function hexNames(hex: string): GitName[] {
  const bytes = hex.match(/[0-9a-f]{2}/g) ?? []
  const text = bytes.map((byte) => String.fromCharCode(Number.parseInt(byte, 16))).join('')
  return text
    .split('\0')
    .filter((name) => name !== '')
    .map((name) => name.replace(/^\.\//, ''))
}

function bytesOf(name: string): Uint8Array {
  return Uint8Array.from(name, (byte) => byte.charCodeAt(0))
}

/** The folders above a name, the nearest first. */
export function foldersAbove(name: GitName): GitName[] {
  const above: GitName[] = []
  for (let end = name.lastIndexOf('/'); end > 0; end = name.lastIndexOf('/', end - 1)) above.push(name.slice(0, end))
  return above
}
