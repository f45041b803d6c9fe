/** Why a text is not parsed, in words; undefined if it is. */
export function unreadable(text: string): string | undefined {
  // The cheap bound first, so that a long text is not encoded just to measure it.
  if (text.length > mostBytes || new TextEncoder().encode(text).length > mostBytes)
    return `more than ${mostBytes} bytes, too long to be read`
  if (text.includes('\\\n')) return 'a backslash at the end of a line'
  const hidden = invisible.exec(text)?.[0]
  if (hidden === undefined) return undefined
  const code = hidden.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
  return `a control or invisible character, U+${code}`
}

const mostBytes = 8192

/**
 * Control characters except tab and newline; blanks except the ASCII one; lone surrogates; characters without width,
 * except selectors that make an emoji.
 */
const invisible =
  /[^\P{Cc}\t\n]|[^\P{Zs} ]|[\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]|(?![\ufe0e\ufe0f])\p{Default_Ignorable_Code_Point}/u

/** A range of a text. */
export type Span = readonly [from: number, to: number]

/** Whether the spans cover all of a text except blanks, operators and comments: then the parser skipped nothing. */
export function isCovered(text: string, spans: readonly Span[]): boolean {
  let at = 0
  let rest = ''
  for (const [from, to] of spans.toSorted(([a], [b]) => a - b)) {
    rest += `${text.slice(at, Math.max(at, from))}\0`
    at = Math.max(at, to)
  }
  rest += text.slice(at)
  // Each zero stands for a word; a comment does not start inside one.
  return /^(?:[\0 \t\n;|&]|(?<![^ \t\n;|&])#[^\n]*)*$/.test(rest)
}
