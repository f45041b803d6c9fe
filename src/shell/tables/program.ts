/** What is known about a program. A program that is not listed may do anything. */
export interface Program {
  /** The command needs no permission at all: `true`, `cd src`. */
  readonly neutral?: Arguments
  /** How it only reads. */
  readonly reads?: Arguments
  /** How it changes only files that its words name, and starts nothing that is not of the project. */
  readonly changes?: Arguments
  /**
   * The words that only print its version, each alone. Without version managers, which may start another program.
   * Default: `--version` and `--help`, if it has a way to only read.
   */
  readonly version?: string
  /** The files that any line of it reads. Default: the words that look like files. */
  readonly opens?: (words: readonly string[]) => readonly string[]
  /** The files that any line of it writes; none if they are not evident; undefined if it is not known to write. */
  readonly writes?: (words: readonly string[]) => readonly string[] | undefined
  /** Whether a line of it uses the network. */
  readonly sends?: (words: readonly string[]) => boolean
  /** The hosts that a line that sends connects to; undefined for one that its words do not tell. Default: of all addresses. */
  readonly hosts?: (words: readonly string[]) => readonly (string | undefined)[]
  /** What it writes and sends is all that it does: no flag starts another program. */
  readonly startsNothing?: true
  /** It obeys the configuration of a repository or project, which can make it run programs; a `toolchain` even for its version. */
  readonly obeys?: 'repository' | 'project' | 'toolchain'
  /** It reads everything in a folder: always, or with such a flag. */
  readonly isDeep?: true | RegExp
  /** What exit code 1 means. Default: a failure. */
  readonly exitOne?: 'no' | 'never'
  /** An approval is not kept: of every line, or of one whose first word is like this. */
  readonly forgets?: true | RegExp
}

/** Reads the words after a program: by its flags, or by a function. */
export type Arguments = FlagTable | ArgumentsReader

/** Gives what a command reads, or why it may do more; undefined if its verb is not known. */
export type ArgumentsReader = (given: readonly Word[]) => ReadArguments | string | undefined

/** One word after the program, and whether the shell would expand it to file names. */
export interface Word {
  readonly text: string
  readonly isGlob: boolean
}

/**
 * The known flags of a program; every other flag refuses. Flags are letters in a row: `l` has no value, `n:` takes
 * one, `f<` takes a file that it reads, `U?` takes an attached value. Long flags the same, separated by blanks; `arg::`
 * takes a name and a value.
 */
export interface FlagTable {
  readonly short?: string
  readonly long?: string
  /** `-5` is a flag. */
  readonly hasNumbers?: true
  /** What the other words are. Default: files to read. `pattern`: the first one is a pattern, unless a flag gave it. */
  readonly words?: 'pattern' | 'text' | 'none'
  /** The maximum number of other words. */
  readonly most?: number
  /** No flag of this program can write, run or send, so file names that look like flags are harmless. */
  readonly hasOnlyReadFlags?: true
  /** On some systems a flag after another word means something else: an output file, a script. */
  readonly flagsFirst?: true
  /** Without files it reads the directory; or only with this flag. */
  readonly readsHere?: true | RegExp
  /** Some version reads the rest of a bundle as flags where a value is expected: only numbers may be attached. */
  readonly valuesApart?: true
  /** It has no bundles: one letter per word. */
  readonly noBundles?: true
  /** A final check: returns why the arguments are refused. */
  readonly check?: (args: ReadArguments) => string | undefined
}

/** The arguments of a command whose table passed them. */
export interface ReadArguments {
  /** The flags, with dashes. */
  readonly flags: readonly { readonly name: string; readonly value?: string }[]
  readonly words: readonly Word[]
  /** Files that it reads. */
  readonly reads: readonly string[]
  /** It runs scripts of the project. */
  readonly runs?: true
}

/** A program that can only read, with what else is known of it. */
export const reads = (by: Arguments, more: Program = {}): Program => ({ ...more, reads: by })

/** A program of which no flag can write, run or send. */
export function alwaysReads(short = '', long = '', more: FlagTable = {}, about: Program = {}): Program {
  return reads({ short, long, hasOnlyReadFlags: true, ...more }, about)
}

/** Programs of which the same is known. */
export function each(names: string, program: Program): Record<string, Program> {
  return Object.fromEntries(names.split(/\s+/).map((name) => [name, program]))
}

/** Flags that make a program read everything in a folder. */
export const recursive = /^(-[^-]*[rR]|--(dereference-)?recursive$)/

/** The words that are no flags. */
export function plain(words: readonly string[]): string[] {
  return words.filter((word) => !/^-./.test(word))
}

/** The values of a flag: `-o x`, `-ox`, `--output=x`. */
export function valuesOf(flag: RegExp, words: readonly string[]): string[] {
  return words.flatMap((word, at) => {
    const found = flag.exec(word)
    if (!found) return []
    const value = word.slice(found[0].length).replace(/^=/, '')
    return [value === '' ? (words[at + 1] ?? '') : value]
  })
}

/** Words that look like files: not flags, addresses or sentences. */
export function lookLikeFiles(words: readonly string[]): string[] {
  return words.filter((word) => /^[^\s-]\S*$/.test(word) && /[./~]/.test(word) && !word.includes('://'))
}
