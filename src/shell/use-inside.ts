import type { ReadCommand } from './reading.ts'
import { isCheck } from './tables/checking-programs.ts'
import { environmentProblem } from './tables/environment.ts'
import { readArguments } from './tables/flags.ts'
import { isGitReading } from './tables/git.ts'
import type { Word } from './tables/program.ts'
import { programNamed } from './tables/programs.ts'
import { unwrap } from './unwrap.ts'

/**
 * What a command is known to do in a sandbox that can change and reach nothing. `reads`: it shows what it reads. `checks`:
 * it also runs code of the project or the line. Patterns, variables and configuration files do not matter there: at worst
 * they make it fail.
 */
export type UseInside = 'reads' | 'checks'

/** The use of a command in such a sandbox; undefined if it is not known. The commands that it runs are judged by themselves. */
export function useInside(command: ReadCommand, program: string | undefined): UseInside | undefined {
  const { words, env, via } = command
  const texts = words.slice(1)
  if (via.some((wrapper) => !starters.test(wrapper))) return undefined
  if (words.length === 0) return areOwnNames(Object.keys(env)) ? 'reads' : undefined
  const check = program ?? localProgram.exec(words[0]!)?.[1]
  if (check !== undefined && isCheck(check, texts)) return 'checks'
  if (program === undefined || environmentProblem({ env, via: [] }) !== undefined) return undefined
  if (isReadingBuiltin(program, texts) || isStarter(words) || (program === 'git' && isGitReading(texts))) return 'reads'
  const { neutral, reads, version = '' } = programNamed(program)
  const given = inFolder(program, texts).map((text): Word => ({ text, isGlob: false }))
  if (texts.length === 1 && version.split(' ').includes(texts[0]!)) return 'reads'
  if (typeof readArguments(neutral, given) === 'object') return 'reads'
  const isScript = program === 'npm' && /^t/.test(texts[0] ?? '')
  if (typeof readArguments(reads, given) === 'object' && !isScript) return 'reads'
  return texts.join() === '--version' ? 'checks' : undefined
}

/** Programs that run others and do nothing else. */
const starters = /^(env|nice|ionice|timeout|stdbuf|time|command|xargs|find|fd|sh|bash|dash|npx|npm|pnpm)$/

/** Whether it runs other commands, which are judged by themselves: `xargs grep x`, `sh -c 'ls'`, `npx tsc`. */
function isStarter([program = '', first = '', ...rest]: readonly string[]): boolean {
  if (/^p?npm$/.test(program) && first !== 'exec') return false
  if (/^(ba|da)?sh$/.test(program) && (!/^-[lc]*c$/.test(first) || rest.length !== 1)) return false
  return program !== 'env' && starters.test(program) && unwrap([program, first, ...rest], () => false) !== undefined
}

/** Another folder is one more file to read, and judged as such. */
const inFolder = (program: string, texts: readonly string[]): readonly string[] =>
  program === 'git' && texts[0] === '-C' ? texts.slice(2) : texts

/** A program that the project installed. It is found by its name, which says what people mean by it. */
const localProgram = /^(?:\.\/)?(?:node_modules\/\.bin|\.?venv\/bin)\/([\w.-]+)$/

/** Names in lower case belong to the line: programs obey variables in upper case, such as PATH. */
const areOwnNames = (names: readonly string[]): boolean => names.every((name) => /^[a-z_][a-z0-9_]*$/.test(name))

/** Built-ins that change nothing but the variables and the course of the line. */
function isReadingBuiltin(program: string, words: readonly string[]): boolean {
  if (program === 'read') return areOwnNames(words.filter((word) => !/^-[rs]*$/.test(word)))
  if (program === 'set') return words.every((word) => /^[-+][eux]*o?$|^(pipefail|errexit|nounset)$/.test(word))
  if (program === 'command') return /^-[vV]$/.test(words[0] ?? '')
  return /^(type|exit|return|break|continue|shift|wait)$/.test(program)
}
