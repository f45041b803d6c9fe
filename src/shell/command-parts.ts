import type { Assignment, Command, HereDocDelimiter, Redirection, Word } from 'unbash'
import { constructs } from './constructs.ts'
import type { Findings } from './found-command.ts'
import type { Span } from './parser-checks.ts'
import type { ReadRedirect } from './reading.ts'
import { redirectProblem } from './redirects.ts'
import { withoutHome } from './shell-location.ts'
import { isHarmlessAssignment } from './tables/environment.ts'

/** A line that is being read. */
export interface Line {
  /** The text that positions refer to. */
  readonly source: string
  readonly findings: Findings
  readonly spans: Span[]
  /** Here-documents and here-strings. */
  readonly inputs: Set<string>
}

/** The words of a command, as far as they are known without running it. */
export function wordsOf({ name, args }: Command): string[] {
  return [...(name ? [name] : []), ...args].map(({ text }) => plainWord(text).value)
}

/** A word, unquoted twice: by our own rules, and by the parser where only it knows the value. */
export function wordOf(part: Word | Assignment, line: Line): PlainWord {
  const plain = plainWord(part.text)
  if (part.type === 'Assignment' && part.value.type !== 'Word') line.findings.obstacle(constructs.ArrayValue)
  for (const name of plain.obstacles) line.findings.obstacle(name)
  if (part.type === 'Word' && plain.isKnown && plain.value !== part.value)
    line.findings.obstacle('a word that can be read in two ways')
  return plain.isKnown || part.type !== 'Word' ? plain : { ...plain, value: part.value }
}

/** The value of an assignment. */
export function assignedTo(part: Assignment, line: Line): string {
  const { value } = part
  const plain = value.type === 'Word' ? wordOf(value, line) : undefined
  const isHarmless = plain?.isKnown && isHarmlessAssignment(part.name, plain.value)
  if (!isHarmless || part.append || part.index) line.findings.obstacle(`an assignment, ${part.name}=…`)
  return plain?.value ?? part.text.slice(part.text.indexOf('=') + 1)
}

/** A redirection and its file. */
export function redirectOf(part: Redirection, line: Line): ReadRedirect {
  const { descriptor, operator } = part
  if (descriptor?.type === 'FileDescriptorVariable') line.findings.obstacle(constructs.FileDescriptorVariable)
  const number = descriptor?.type === 'FileDescriptor' ? { descriptor: descriptor.value } : {}
  for (const text of inputsOf([part])) line.inputs.add(text)
  if (part.type === 'HereDoc') {
    const { body, closing, delimiter } = part
    line.spans.push([body.pos, body.end], [closing?.pos ?? body.end, closing?.end ?? body.end])
    if (!closing || !delimiter) {
      line.findings.obstacle('a here-document that does not end')
      line.findings.unread(line.source)
    } else if (!isQuoted(delimiter) && hasExpansion(body.text))
      line.findings.obstacle('an expansion in a here-document')
    return { operator, ...number, target: undefined }
  }
  const plain = part.target && wordOf(part.target, line)
  if (part.type === 'HereString') return { operator, ...number, target: undefined }
  const target = plain?.isKnown && !plain.isGlob ? plain.value : undefined
  const problem = redirectProblem({ operator, ...number, target })
  if (problem !== undefined) line.findings.obstacle(problem)
  // An uncertain target is reported too, for rules that deny.
  const isTelling = plain && !/[$`{]/.test(withoutHome(plain.value))
  return { operator, ...number, target: target ?? (isTelling ? plain.value : undefined) }
}

/** True only if both the parser and the text say so. */
const isQuoted = ({ quoted, text }: HereDocDelimiter): boolean => quoted && /^[\w.'"\\-]*['"\\][\w.'"\\-]*$/.test(text)

/** The text that a command gets as input. */
export function inputsOf(redirects: readonly Redirection[]): string[] {
  return redirects.flatMap((part) => {
    if (part.type === 'HereDoc') return [part.body.text]
    return part.type === 'HereString' && part.target ? [plainWord(part.target.text).value] : []
  })
}

/** One word of a shell line, unquoted by our own reading, to compare with the parser's. */
interface PlainWord {
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
