import type { CommandFacts, ShellFacts } from './shell-facts.ts'

/**
 * Why the words of a line do not settle what it reads; undefined if they do. Such a line is one command of a known program
 * of the machine with literal words: it may run without a question where there is no sandbox, if the files that it names
 * are what they seem (`whyNotPlainFiles`). Pure.
 */
export function whyNotStrict({ isWhole, obstacles, commands }: ShellFacts): string | undefined {
  const [facts] = commands
  if (!isWhole || !facts) return 'it could not be read whole'
  if (obstacles.length > 0) return `it cannot be inspected: ${obstacles[0]}`
  if (commands.length > 1) return 'it is more than one command'
  return whyNotLiteral(facts)
}

function whyNotLiteral({ command, table, why, isReadOnly }: CommandFacts): string | undefined {
  const { words, globs, env, via, isNested, cwd } = command
  const program = strictProgramOf(command)
  if (table === 'refuses') return why ?? 'its flags are not known'
  if (program === undefined || !isReadOnly) return `${words[0] ?? 'a redirection'} is not known to only read`
  if (globs.length > 0) return `${words[globs[0]!]} is a pattern, and only the shell knows which files it means`
  if (via.length > 0 || Object.keys(env).length > 0 || isNested || cwd === undefined)
    return 'it is more than a plain command'
  const wide = words.slice(1).find((word) => wideFlags[program]?.test(word))
  return wide === undefined ? undefined : `${wide} of ${program} reads files that it does not name`
}

/** The name of a program that the strict table knows; it is found in the folders of `PATH`, or a built-in of the shell. */
export function strictProgramOf({ words: [name = ''] }: Pick<CommandFacts['command'], 'words'>): string | undefined {
  return builtins.has(name) || listing.has(name) || showing.has(name) ? name : undefined
}

/** Whether the shell itself is the program. */
export const isBuiltin = (program: string): boolean => builtins.has(program)

/** Whether the program shows what is in files, not only their names and attributes. */
export const showsContent = (program: string): boolean => showing.has(program)

const setOf = (names: string): ReadonlySet<string> => new Set(names.split(/\s+/))

const builtins = setOf('cd pwd true false : echo printf test [')
const listing = setOf(
  'ls stat du df basename dirname realpath readlink which date whoami id uname hostname uptime free sleep seq',
)
const showing = setOf(
  `cat head tail wc cut tr nl tac rev paste join fold expand unexpand comm cmp diff sort uniq strings od hexdump xxd file
  md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum grep egrep fgrep`,
)

const recursive = /^(-[^-]*[rRd]|--(dereference-)?recursive|--directories)/
const listed = /^(-[^-]*c|--check)/
const following = /^(-[^-]*L|--dereference)/

/** Flags by which a program reads or lists files that stand nowhere in the line, such as those behind links in a folder. */
const wideFlags: Readonly<Record<string, RegExp>> = {
  ...Object.fromEntries(['grep', 'egrep', 'fgrep', 'diff'].map((name) => [name, recursive])),
  ls: following,
  du: following,
  ...Object.fromEntries([...showing].filter((name) => /^(md5|sha\d+|b2)sum$/.test(name)).map((name) => [name, listed])),
}
