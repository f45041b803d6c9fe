import { type ShellToken, tokensOf } from './shell-words.ts'

/**
 * Whether a command only reads, so that others may run at the same time. It serves speed, not security: in doubt the command
 * runs alone.
 */
export function canRunConcurrently(command: string): boolean {
  if (command.length > maxCommandLength || joins.test(command)) return false
  const words = tokensOf(command)
  if (!words || words.some((word) => word.isOperator || word.code)) return false
  const [program, ...rest] = words
  if (!program || program.glob || program.brace || program.variable) return false
  if (alwaysReads.has(program.text)) return true
  if (program.text === 'git') return isReadingGit(rest)
  const harmful = harmfulFlags.get(program.text)
  return harmful !== undefined && hasNoHarmfulFlag(harmful, rest)
}

/** Longer commands are not analysed. */
const maxCommandLength = 8192

/** Operators between commands, or commands and files; quoted or not. */
const joins = /[|><;&`\n]|\$\(/

const alwaysReads = new Set('ls cat head tail wc pwd stat du df which whoami uname echo printf grep'.split(' '))

/** Programs that read, and the arguments with which they write or run something. */
const harmfulFlags: ReadonlyMap<string, RegExp> = new Map([
  ['find', /^-(exec|ok|delete|fprint|fls)/],
  ['fd', /^(--exec|-[^-]*[xX])/],
  ['rg', /^--(pre|hostname-bin)/],
  ['tree', /^(-[^-]*[oR]|--output)/],
  ['file', /^(-[^-]*C|--c)/],
  ['date', /^(-[uR]*s|--s|\d+(\.\d+)?$)/],
])

const gitReads = new Set(['status', 'diff', 'log', 'show', 'blame', 'rev-parse', 'ls-files'])
const gitHarmful = /^--(ou|ext)/
/** `git branch` changes branches unless it lists them. */
const gitListing =
  /^(-[avrli]+|--(all|remotes|list|verbose|show-current|ignore-case|no-color|no-column|(color|column|sort|format|abbrev)(=.*)?))$/

function isReadingGit([verb, ...rest]: readonly ShellToken[]): boolean {
  if (!verb) return false
  if (verb.text === 'branch') return rest.every(isPlain) && rest.every(({ text }) => gitListing.test(text))
  return isPlain(verb) && gitReads.has(verb.text) && hasNoHarmfulFlag(gitHarmful, rest)
}

/** No argument is harmful, or could expand to a harmful one: a variable or a file name may be a flag. */
function hasNoHarmfulFlag(harmful: RegExp, words: readonly ShellToken[]): boolean {
  return words.every(({ text, glob, brace, variable }) => {
    if (brace || variable || harmful.test(text)) return false
    return !glob || !/^[-*?[]/.test(text)
  })
}

const isPlain = ({ glob, brace, variable }: ShellToken): boolean => !glob && !brace && !variable

/** Whether exit code 1 only means "nothing found" or "false", and is no failure. */
export function exitOneMeansNo(command: string): boolean {
  const programs = command.length > maxCommandLength ? [] : programsThatDecide(command)
  return programs.some((name) => saysNo.has(name)) && programs.every((name) => saysNo.has(name) || neverFails.has(name))
}

const saysNo = new Set(['rg', 'grep', 'diff', 'test', '['])
const neverFails = new Set(['echo', 'printf', 'true', ':'])

/** The programs whose exit code may be that of the command: of the last statement, the end of each pipeline. */
function programsThatDecide(command: string): string[] {
  let programs: string[] = []
  let words: string[] = []
  let isOver = false
  const closeCommand = (): void => {
    const program = words.find((word) => !isAssignment.test(word))
    if (program) programs.push(program.slice(program.lastIndexOf('/') + 1))
    words = []
  }
  for (const { text, isOperator } of tokensOf(command) ?? []) {
    if (!isOperator) {
      if (isOver) programs = []
      isOver = false
      words.push(text)
    } else if (text === '|') words = []
    else if (text === '&&' || text === '||') closeCommand()
    else if ((text === ';' || text === '\n') && words.length > 0) {
      closeCommand()
      isOver = true
    } else if ('()&;;'.includes(text)) return []
  }
  closeCommand()
  return programs
}

const isAssignment = /^[A-Za-z_]\w*\+?=/
