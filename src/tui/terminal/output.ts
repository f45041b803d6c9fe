import type { Readable, Writable } from 'node:stream'

/** The streams of a terminal; tests replace them. */
export interface TerminalStreams {
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown }
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
}

export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number }
