/** The name and the argument of a line that may be a command; a name has no slash in it. */
export function readCommandLine(line: string): CommandLine | undefined {
  const [, name, argument = ''] = /^\/([\p{L}\p{N}?][^\s/]*)(?:\s+([\s\S]*))?$/u.exec(line.trimEnd()) ?? []
  return name === undefined ? undefined : { name, argument: argument.trim() }
}

export interface CommandLine {
  /** Without the slash. */
  readonly name: string
  readonly argument: string
}
