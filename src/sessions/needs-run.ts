import { SessionNotFoundError } from '../core/errors.ts'
import type { LogEntry } from '../core/log.ts'
import type { Session, SessionStore, SessionSummary } from '../core/store.ts'
import { inboxOf } from './pending.ts'

/**
 * Whether a run could do something about a session that needs attention. Messages that a stopped or failed run has left in
 * the log wait for the next message, whichever process looks; the log says so.
 */
export async function needsRun(
  store: SessionStore,
  { id, head, attention, status }: Pick<SessionSummary, 'id' | 'head' | 'attention' | 'status'>,
): Promise<boolean> {
  if (attention !== 'mail') return attention !== undefined
  if (status === 'waiting') return false // the answer to the call delivers messages too
  if (!endedEarly((await store.read(id, { limit: 2, fromEnd: true })).findLast(isNoCheckpoint))) return true
  try {
    return (await inboxOf(store, id, head)).length > 0
  } catch (error) {
    if (error instanceof SessionNotFoundError) return false // it was deleted meanwhile
    throw error
  }
}

/** Whether a run was interrupted: it has to go on at once, before new work. */
export const isInterrupted = ({ attention }: Pick<SessionSummary, 'attention'>): boolean =>
  attention === 'owner_died' || attention === 'interrupted'

/** Whether all messages in the log of a session were left by a run that was stopped or failed. */
export function hasOldMailOnly({ log: { transcript } }: Session): boolean {
  const { status = '', endSeq = 0 } = transcript.runs.at(-1) ?? {}
  return early.has(status) && !transcript.inbox.some(({ seq }) => seq > endSeq)
}

const early: ReadonlySet<string> = new Set(['aborted', 'error', 'suspended'])
const endedEarly = (entry: LogEntry | undefined): boolean => entry?.type === 'run_ended' && early.has(entry.status)
const isNoCheckpoint = ({ type }: LogEntry): boolean => type !== 'checkpoint'
