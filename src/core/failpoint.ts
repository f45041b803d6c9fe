import type { LogEntry } from './log.ts'

let handler: ((name: string) => void) | undefined

/**
 * A place where a crash would hurt. Nothing happens here, except in crash tests, which kill the process at each such
 * place in turn. Entries that are about to be written, or were, become part of the name.
 */
export function failpoint(name: string, entries?: readonly LogEntry[]): void {
  if (handler) handler(entries ? `${name}:${entries.map(({ type }) => type).join('+')}` : name)
}

/** For crash tests alone. */
export function onFailpoint(listener: ((name: string) => void) | undefined): void {
  handler = listener
}
