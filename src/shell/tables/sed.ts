import { readFlags } from './flags.ts'
import { type FlagTable, plain, type ReadArguments, type Word } from './program.ts'
import { sedScriptProblem } from './sed-script.ts'

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
