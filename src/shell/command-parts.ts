import type { Assignment, Command, HereDocDelimiter, Redirection, Word } from 'unbash'
import { constructs } from './constructs.ts'
import type { Findings } from './found-command.ts'
import type { Span } from './parser-checks.ts'
import { hasExpansion, type PlainWord, plainWord } from './plain-word.ts'
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
