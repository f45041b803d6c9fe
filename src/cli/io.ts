import type { Readable, Writable } from 'node:stream'

/** Everything a command touches of the outside world; tests hand in their own. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown }
  /** Known without opening it: there is nothing to read, as from `/dev/null`. */
  readonly isStdinEmpty?: boolean
  /** The answer, and nothing else. */
  readonly stdout: Output
  /** Everything that is about the answer: progress, questions, notices, errors. */
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** The user's own folder: `$LIBERO_HOME`, else `~/.libero`. */
  readonly home: string
  /** Where the person is at home; what `~` means. */
  readonly userHome: string
  readonly fetch: typeof globalThis.fetch
  /** Hears of SIGINT, SIGTERM and SIGHUP, in place of dying of them. Returns how to stop. */
  onSignal(listener: (signal: StopSignal) => void): () => void
  /** Hears of errors that nobody caught, in place of dying of them. Returns how to stop. */
  onCrash(listener: (error: unknown) => void): () => void
  /** Ends the process at once; what it started is ended with it. */
  quit(exitCode: number): void
  /** A line on stdout. */
  out(line: string): void
  /** A line on stderr. */
  err(line: string): void
}

export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number }
export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'
