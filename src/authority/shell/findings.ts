import type { Directories } from './directories.ts'
import type { ReadCommand } from './reading.ts'

/** Who is told what a line holds, in the order of its text. */
export interface Findings {
  command(command: ReadCommand): void
  obstacle(name: string): void
  /** A piece that may hold commands nobody saw. */
  unread(text: string): void
}

/** Where in a line something stands. */
export interface Position {
  /** Moved by `cd`; a subshell has its own. */
  readonly shell: { directories: Directories }
  readonly isNested: boolean
  /** What the line was given to, when it stood inside another: `sh -c '…'`. */
  readonly via: readonly string[]
}
