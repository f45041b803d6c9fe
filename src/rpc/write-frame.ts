/**
 * A frame as one line with its LF. Keys are in alphabetical order, as zot has them, so that transcripts can be compared;
 * a half of a surrogate pair, which strict readers refuse, is replaced; U+2028 and U+2029, at which some readers break
 * lines, are escaped.
 */
export function writeFrame(frame: object): string {
  return `${JSON.stringify(frame, inOrder).replace(lineSeparators, escaped)}\n`
}

function inOrder(_: string, value: unknown): unknown {
  if (typeof value === 'string') return value.isWellFormed() ? value : value.toWellFormed()
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

const lineSeparators = /[\u2028\u2029]/g
const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16)}`
