/** One word of a shell line, unquoted by our own reading, to compare with the parser's. */
export interface PlainWord {
  /** The text the program receives. If unknown, the part that could be read. */
  readonly value: string
  /** The shell would expand it to file names. */
  readonly isGlob: boolean
  /** Its value depends only on its text (and on file names, for a glob). */
  readonly isKnown: boolean
  /** The expansions in it, in words. `$?` is a number and does not count. */
  readonly obstacles: readonly string[]
}

/** Unquotes a word by the rules of bash, for words without expansions. */
export function plainWord(text: string): PlainWord {
  const obstacles = new Set<string>()
  const lastBracket = text.lastIndexOf(']')
  const lastBrace = text.lastIndexOf('}')
  let value = ''
  let isGlob = false
  let isKnown = true
  let isQuoted = false
  let isBrace = false
  const unknown = (name?: string): void => {
    isKnown = false
    if (name !== undefined) obstacles.add(name)
  }
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!
    const next = text[at + 1] ?? ''
    const nested = nestedName(text.slice(at, at + 3), isQuoted)
    if (nested !== undefined) {
      // The rest is left to the parser.
      unknown(nested)
      value += text.slice(at)
      return { value, isGlob, isKnown, obstacles: [...obstacles] }
    }
    if (char === '$' && isName.test(next)) {
      unknown(next === '?' ? undefined : 'a parameter expansion, $…')
      value += char
      // `$$` and `$!` end here; the next character starts no second expansion.
      if (!/\w/.test(next)) value += text[++at]
    } else if (char === '"') {
      isQuoted = !isQuoted
    } else if (char === '\\' && isQuoted) {
      // Inside double quotes a backslash escapes only these.
      if (next !== '' && '$`"\\'.includes(next)) at++
      value += text[at]
    } else if (char === '\\') {
      if (/^[\p{L}\p{N}_]?$/u.test(next)) obstacles.add('a backslash in front of a letter')
      value += next
      at++
    } else if (isQuoted) {
      value += char
    } else if (char === "'") {
      const end = text.indexOf("'", at + 1)
      if (end < 0) unknown('a quote that does not end')
      value += text.slice(at + 1, end < 0 ? text.length : end)
      at = end < 0 ? text.length : end
    } else {
      if (char === '~' && (at === 0 || '=:'.includes(text[at - 1]!))) unknown('a home directory, ~')
      if ('|&;()<> \t\n'.includes(char)) unknown('shell syntax inside a word')
      if (char === '*' || char === '?' || (char === '[' && at < lastBracket)) isGlob = true
      if (char === '{') isBrace = true
      if (at > lastBrace) isBrace = false
      if (isBrace && (char === ',' || (char === '.' && next === '.'))) unknown('a brace expansion, {…}')
      value += char
    }
  }
  if (isQuoted) unknown('a quote that does not end')
  return { value, isGlob, isKnown, obstacles: [...obstacles] }
}

/** Whether the shell would expand something in unquoted text, such as the body of a here-document. */
export function hasExpansion(text: string): boolean {
  return /`|\$[\w@*#?\-$!{([]/.test(text)
}

const isName = /^[\w@*#?\-$!]$/

function nestedName(start: string, isQuoted: boolean): string | undefined {
  if (start.startsWith('`')) return 'a command substitution, $(…)'
  if (start.startsWith('$((') || start.startsWith('$[')) return 'arithmetic, $((…))'
  if (start.startsWith('$(')) return 'a command substitution, $(…)'
  if (start.startsWith('${')) return 'a parameter expansion, $…'
  if (isQuoted) return undefined
  if (start.startsWith("$'")) return "a string with escapes, $'…'"
  if (start.startsWith('$"')) return 'a translated string, $"…"'
  if (/^[<>]\(/.test(start)) return 'a process substitution, <(…)'
  return /^[?*+@!]\(/.test(start) ? 'an extended pattern, @(…)' : undefined
}
