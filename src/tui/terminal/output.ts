import type { Readable, Writable } from 'node:stream'

/** The streams of a terminal; tests replace them. */
export interface TerminalStreams {
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown }
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
}

export type Output = Writable & {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
  /**
   * Asks the system for the size, and emits `resize` if it differs. The signal about a resize comes a moment later, and a
   * frame for the old width that is drawn meanwhile would be in other rows than the next frame assumes.
   */
  _refreshSize?(): void
}
