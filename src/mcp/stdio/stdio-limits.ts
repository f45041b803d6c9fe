/** How much of a server is borne, and for how long. */
export interface StdioLimits {
  /** Of one message, either way. Default 16 MB. */
  readonly lineBytes: number
  /** Lines that are no messages, until it is ended. Default 100. */
  readonly skippedLines: number
  /** What is kept of stderr. Default 64 KB. */
  readonly stderrBytes: number
  /** What may wait for a server that does not read. Default 32 MB. */
  readonly unreadBytes: number
  /** How long it may take to end by itself when its input ends. Default 2,000. */
  readonly inputGraceMs: number
  /** Between SIGTERM and SIGKILL. Default 2,000. */
  readonly termGraceMs: number
}

const megabyte = 1024 * 1024

export const defaultLimits: StdioLimits = {
  lineBytes: 16 * megabyte,
  skippedLines: 100,
  stderrBytes: 64 * 1024,
  unreadBytes: 32 * megabyte,
  inputGraceMs: 2000,
  termGraceMs: 2000,
}

/** A number of bytes as people say it. */
export function sizeOf(bytes: number): string {
  return bytes % megabyte === 0 ? `${bytes / megabyte} MB` : `${bytes} bytes`
}
