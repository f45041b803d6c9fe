import type { Directories } from './directories.ts'
import type { ReadCommand } from './reading.ts'

/** Receives what a line contains, in the order of its text. */
export interface Findings {
  command(command: ReadCommand): void
  obstacle(name: string): void
  /** A part that may contain commands which were not found. */
  unread(text: string): void
}

/** The state at a position of a line. */
export interface Position {
  /** Changed by `cd`; a subshell has its own. */
  readonly shell: { directories: Directories }
  readonly isNested: boolean
  /** The programs that run the line, if it is inside another one: `sh -c '…'`. */
  readonly via: readonly string[]
}
