import { readEcho, readPrintf, readTest } from './builtins.ts'
import { filePrograms } from './file-programs.ts'
import { readFind } from './find.ts'
import { type FlagTable, type ReadArguments, readFlags, type Word } from './flags.ts'
import { gitVerb, isGitVerb, readGit } from './git.ts'
import { isVersionQuery, machinePrograms } from './machine-programs.ts'
import { isNpmVerb, readNpm } from './npm.ts'
import { searchPrograms } from './search-programs.ts'
import { readSed } from './sed.ts'
import { textPrograms } from './text-programs.ts'

type Reader = (given: readonly Word[]) => ReadArguments | string

const readers: Readonly<Record<string, Reader>> = {
  echo: readEcho,
  printf: readPrintf,
  test: (given) => readTest(given, false),
  '[': (given) => readTest(given, true),
  sed: readSed,
  find: readFind,
  git: readGit,
  npm: readNpm,
}

const tables: Readonly<Record<string, FlagTable>> = {
  ...textPrograms,
  ...filePrograms,
  ...searchPrograms,
  ...machinePrograms,
}

/** Looks up a program: its parsed arguments, or why they are refused; undefined if there is no table. */
export function lookUp(program: string, given: readonly Word[]): ReadArguments | string | undefined {
  const texts = given.map(({ text }) => text)
  if (isVersionQuery(program, texts) && !given[0]!.isGlob) return { flags: [], words: given, reads: [] }
  // git and npm have a table per verb: a verb without one counts as a program without a table.
  if (program === 'git' && gitVerb(given).options.length === 0 && !isGitVerb(texts[0] ?? '')) return undefined
  if (program === 'npm' && !isNpmVerb(texts[0] ?? '')) return undefined
  if (Object.hasOwn(readers, program)) return readers[program]!(given)
  return Object.hasOwn(tables, program) ? readFlags(tables[program]!, given) : undefined
}

/** Whether the command needs no approval at all. */
export function isNeutral(program: string, given: readonly Word[]): boolean {
  if (program === 'cd') {
    const args = readFlags({ short: 'LP', most: 1 }, given)
    return typeof args !== 'string'
  }
  if (program === 'pwd') return typeof readFlags({ short: 'LP', words: 'none' }, given) !== 'string'
  return /^(true|false|:)$/.test(program)
}
