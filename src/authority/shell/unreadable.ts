/** Why a text is not even parsed, in words for people; undefined when it may be. */
export function unreadable(text: string): string | undefined {
  // The cheap bound first: a text of a megabyte is not encoded to be measured.
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
 * Controls but tab and newline; blanks but the ASCII one; halves of characters; what has no width, but for the selectors
 * that make an emoji of a sign.
 */
const invisible =
  /[^\P{Cc}\t\n]|[^\P{Zs} ]|[\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]|(?![\ufe0e\ufe0f])\p{Default_Ignorable_Code_Point}/u
