import type { LogEntry } from '../core/log.ts'

/**
 * Whether an entry takes the place of what was streamed before it: it is the reply itself, or no reply comes. Messages,
 * notes and states come in the middle of a reply, which goes on after them.
 */
export function replacesReply(entry: LogEntry): boolean {
  if (entry.type === 'turn') return entry.turn.role === 'assistant'
  return entry.type === 'run_ended' || entry.type === 'rewind'
}
