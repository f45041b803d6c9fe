import { readFlags } from './flags.ts'
import { type FlagTable, plain, type ReadArguments, type Word } from './program.ts'

// -i writes, -f loads a script from a file.
const flags: FlagTable = {
  short: 'nErsuze:',
  long: 'quiet silent regexp-extended separate unbuffered null-data expression: posix debug sandbox',
  flagsFirst: true,
}

/** sed, with every script checked. */
export function readSed(given: readonly Word[]): ReadArguments | string {
  const args = readFlags(flags, given)
  if (typeof args === 'string') return args
  const scripts = args.flags.filter(({ name }) => /^(-e|--expression)$/.test(name)).map(({ value = '' }) => value)
  const [first, ...others] = args.words
  const isFirstScript = scripts.length === 0
  if (isFirstScript && (!first || first.isGlob)) return 'there is no script that could be read'
  const script = isFirstScript ? [first!.text] : scripts
  if (given.some(({ text, isGlob }) => isGlob && script.some((part) => text.endsWith(part))))
    return 'a script that the shell would match against file names'
  const why = sedScriptProblem(script.join('\n'))
  if (why) return why
  return { ...args, reads: (isFirstScript ? others : args.words).map(({ text }) => text) }
}

/** The files that sed edits in place. */
export function sedWrites(words: readonly string[]): string[] | undefined {
  return words.some((word) => /^(-[nErsuz]*i|--in-place)/.test(word)) ? plain(words).slice(1) : undefined
}

/**
 * Accepts sed scripts that only print and edit in memory; returns the part that does more. `e`, `w`, `r` and similar
 * commands run, write and read. Refuses where versions of sed disagree about the end of a part.
 */
function sedScriptProblem(script: string): string | undefined {
  const reader: Reader = { script, at: 0, depth: 0 }
  while (reader.at < script.length) {
    const why = command(reader)
    if (why) return why
  }
  return reader.depth === 0 ? undefined : 'a { without its }'
}

interface Reader {
  readonly script: string
  at: number
  depth: number
}

function command(reader: Reader): string | undefined {
  skip(reader, /[\s;]*/y)
  if (reader.at >= reader.script.length) return undefined
  const badAddress = addresses(reader)
  if (badAddress) return badAddress
  const name = reader.script[reader.at++] ?? ''
  if (name === '{') {
    reader.depth++
    return undefined
  }
  if (name === '}') {
    if (--reader.depth < 0) return 'a } without its {'
  } else if (name === 's' || name === 'y') {
    const delimiter = opening(reader)
    const isClear = delimiter !== undefined && part(reader, delimiter) && part(reader, delimiter)
    if (!isClear) return `the sed command ${name}, whose parts cannot be told apart for certain`
    if (name === 's') skip(reader, /[gpIiMm0-9]*/y)
  } else if (/[bt:]/.test(name)) {
    skip(reader, / *\w*/y)
  } else if (/[lqQ]/.test(name)) {
    skip(reader, / *\d*/y)
  } else if (/[aic]/.test(name)) {
    // On one line, as GNU accepts it; others refuse it. With a backslash, versions disagree where it ends.
    if (!/[ \t]*[^\s\\][^\n\\]*(\n|$)/y.test(reader.script.slice(reader.at)))
      return `the sed command ${name}, whose text cannot be told apart for certain`
    skip(reader, /[^\n]*/y)
  } else if (name === '' || !'pPdD=nNgGhHxzF'.includes(name)) {
    return `the sed command ${name === '' ? '(none)' : name}, which is not known to only print`
  }
  const isAtEnd = /[ \t]*($|[;\n}])/y
  isAtEnd.lastIndex = reader.at
  return isAtEnd.test(reader.script)
    ? undefined
    : `${JSON.stringify(reader.script[reader.at])} after the sed command ${name}`
}

function addresses(reader: Reader): string | undefined {
  for (let first = true; ; first = false) {
    const from = reader.at
    skip(reader, /\d+(~\d+)?|\$|[+~]\d+/y)
    if (reader.at === from && /[/\\]/.test(reader.script[from] ?? '')) {
      if (reader.script[from] === '\\') reader.at++
      const delimiter = opening(reader)
      if (delimiter === undefined || !part(reader, delimiter)) return 'a sed address whose end is not certain'
      skip(reader, /[IM]*/y)
    }
    skip(reader, /[ \t]*/y)
    if (first && reader.at > from && reader.script[reader.at] === ',') {
      reader.at++
      skip(reader, /[ \t]*/y)
      continue
    }
    skip(reader, /[ \t!]*/y)
    return undefined
  }
}

function opening(reader: Reader): string | undefined {
  const delimiter = reader.script[reader.at++] ?? ''
  return '/|,#:@!%_+=~;'.includes(delimiter) && delimiter !== '' ? delimiter : undefined
}

/** Reads up to the next delimiter. Some versions of sed ignore one inside brackets, so there must be none. */
function part(reader: Reader, delimiter: string): boolean {
  const from = reader.at
  for (; reader.at < reader.script.length; reader.at++) {
    const letter = reader.script[reader.at]
    if (letter === '\n') return false
    if (letter === '\\') {
      if (reader.script[++reader.at] === '\n') return false
    } else if (letter === delimiter) {
      const text = reader.script.slice(from, reader.at++)
      return closesBrackets(text)
    }
  }
  return false
}

function closesBrackets(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '[') {
      at = bracketEnd(text, at)
      if (at < 0) return false
    }
  }
  return true
}

function bracketEnd(text: string, from: number): number {
  let at = from + 1
  if (text[at] === '^') at++
  if (text[at] === ']') at++
  for (; at < text.length; at++) {
    if (text[at] === ']') return at
    const mark = text[at] === '[' ? text[at + 1] : undefined
    if (mark === undefined || !':.='.includes(mark)) continue
    const end = text.indexOf(`${mark}]`, at + 2)
    if (end < 0) return -1
    at = end + 1
  }
  return -1
}

function skip(reader: Reader, pattern: RegExp): void {
  pattern.lastIndex = reader.at
  reader.at += pattern.exec(reader.script)?.[0].length ?? 0
}
