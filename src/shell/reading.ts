/**
 * A parsed shell line. Plain data, because it comes from a thread. Allow rules require `obstacles` to be empty; deny
 * rules look at every command, wherever it stands, and at `words` if there is no syntax tree.
 */
export interface ShellReading {
  /** The line was parsed whole. False if it is too long, is no shell, or took too long; then use `words`. */
  readonly isWhole: boolean
  /** Why the line may do more than its commands show, in words: "a command substitution, $(…)". */
  readonly obstacles: readonly string[]
  /** Every simple command in the order of the text, including those inside substitutions, functions and wrappers. */
  readonly commands: readonly ReadCommand[]
  /** The programs whose exit code may be that of the line; none if a construct such as `if` decides, or it is not known. */
  readonly ends: readonly string[]
  /** If the line was not parsed whole: everything in it that could name a program, unquoted. */
  readonly words: readonly string[]
}

/**
 * One simple command. A wrapper that changes nothing (`nice`, `timeout 5`) is replaced by the command it wraps. One that
 * changes something (`sudo`, `xargs`, `sh -c`) is a command too, an obstacle, and followed by the command it wraps; if
 * its flags are unknown, by every word that could be a program.
 */
export interface ReadCommand {
  /** Unquoted; the first is the program as written. Empty for assignments or redirections alone. */
  readonly words: readonly string[]
  /** The indexes of the words that the shell would expand to file names. */
  readonly globs: readonly number[]
  /** Assignments before the command. */
  readonly env: Readonly<Record<string, string>>
  readonly redirects: readonly ReadRedirect[]
  /**
   * Its directory relative to the start of the line: `.`, or `src` after `cd src &&`; undefined if unknown. A `cd` may
   * fail, so after `cd src;` a command is listed twice, for `src` and for `.`.
   */
  readonly cwd: string | undefined
  /** The wrappers around it, outermost first. */
  readonly via: readonly string[]
  /** It is inside a substitution, a function or a loop: only the running shell knows whether and how it runs. */
  readonly isNested: boolean
}

/** A redirection of a command. */
export interface ReadRedirect {
  /** As written: `>`, `>>`, `<`, `&>`, `2>` has the operator `>` and the descriptor 2. */
  readonly operator: string
  readonly descriptor?: number
  /** Unquoted; a number or `-` after `>&` and `<&`; undefined for here-documents, here-strings, and if unknown. */
  readonly target: string | undefined
}
