/**
 * What a shell line was found to say. Plain data, because it comes out of a thread. Whoever allows something needs
 * `obstacles` to be empty; whoever denies looks at every command, wherever it stands, and without a tree at `words`.
 */
export interface ShellReading {
  /** The line was parsed whole. False when it is too long, is no shell, or took too long; then `words` has to do. */
  readonly isWhole: boolean
  /** Why the line may do more than its commands say, in words for people: "a command substitution, $(…)". */
  readonly obstacles: readonly string[]
  /** Every simple command in the order of the text, those inside substitutions, functions and wrappers included. */
  readonly commands: readonly ReadCommand[]
  /** When the line was not read whole: everything in it that could be the name of a program, quotes taken off. */
  readonly words: readonly string[]
}

/**
 * One simple command. A wrapper that changes nothing (`nice`, `timeout 5`) is taken off: what it wraps stands in its
 * place. One that changes something (`sudo`, `xargs`, `sh -c`) is a command too, an obstacle, and followed by what it
 * wraps; where its flags are not known here, by every word that could be a program.
 */
export interface ReadCommand {
  /** Unquoted; the first is the program as it was written. Empty for assignments or redirections alone. */
  readonly words: readonly string[]
  /** Which of the words the shell would still match against file names. */
  readonly globs: readonly number[]
  /** Assignments in front of it. */
  readonly env: Readonly<Record<string, string>>
  readonly redirects: readonly ReadRedirect[]
  /**
   * Where it runs, relative to where the line starts: `.`, or `src` after `cd src &&`; undefined when that is not known.
   * A `cd` may fail, so after `cd src;` a command is listed twice, for `src` and for `.`.
   */
  readonly cwd: string | undefined
  /** The wrappers around it, outermost first. */
  readonly via: readonly string[]
  /** It stands where only a running shell knows whether and how it is run: a substitution, a function, a loop. */
  readonly isNested: boolean
}

/** A redirection of a command. */
export interface ReadRedirect {
  /** As written: `>`, `>>`, `<`, `&>`, `2>` has the operator `>` and the descriptor 2. */
  readonly operator: string
  readonly descriptor?: number
  /** Unquoted; a number or `-` behind `>&` and `<&`; undefined for here-documents, here-strings, and where it cannot be known. */
  readonly target: string | undefined
}
