import type { Output, TerminalStreams } from '../tui/terminal/output.ts'

/** A command's access to the outside world; tests replace it. */
export interface Io extends TerminalStreams {
  /** stdin is known to be empty, as `/dev/null` is, without opening it. */
  readonly isStdinEmpty?: boolean
  /** For the answer only. */
  readonly stdout: Output
  /** For everything else: progress, questions, notices, errors. */
  readonly stderr: Output
  readonly cwd: string
  /** The user's own folder: `$LIBERO_HOME`, else `~/.libero`. */
  readonly home: string
  /** The home folder of the person: `~`. */
  readonly userHome: string
  readonly fetch: typeof globalThis.fetch
  /** Listens for SIGINT, SIGTERM and SIGHUP, which then do not end the process. Returns a function that stops listening. */
  onSignal(listener: (signal: StopSignal) => void): () => void
  /** Listens for uncaught errors, which then do not end the process. Returns a function that stops listening. */
  onCrash(listener: (error: unknown) => void): () => void
  /** Ends the process at once, with the processes it started. */
  quit(exitCode: number): void
  /** Prints a line on stdout. */
  out(line: string): void
  /** Prints a line on stderr. */
  err(line: string): void
}

export type { Output }
export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'
