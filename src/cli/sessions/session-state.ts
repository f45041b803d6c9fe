import { SessionBusyError } from '../../core/errors.ts'
import type { InboxItem } from '../../core/log.ts'
import type { SessionStore } from '../../core/store.ts'
import type { Transcript } from '../../core/transcript.ts'
import { inboxOf } from '../../sessions/pending.ts'

/**
 * `open` and `waiting` are what the log says, and `liveState` refines them: a run that never ended is `running` in
 * another process or `interrupted`; a session that waits for an answer may have been `answered` since.
 */
export type SessionState = keyof typeof stateLabels

export const stateLabels = {
  empty: 'empty',
  done: 'done',
  waiting: 'waits for you',
  answered: 'answered, resume it',
  running: 'running elsewhere',
  open: 'interrupted',
  interrupted: 'interrupted',
  limited: 'stopped by a limit',
  failed: 'failed',
  parked: 'parked',
} as const

/** The state according to the log. */
export function stateOf(transcript: Transcript): SessionState {
  if (transcript.parked !== undefined) return 'parked'
  if (transcript.activeRun) return 'open'
  const last = transcript.runs.at(-1)
  if (!last && transcript.turns.length === 0) return 'empty'
  if (last?.status === 'suspended') return 'waiting'
  if (last?.status === 'aborted' || last?.stop === 'crashed') return 'interrupted'
  if (last?.stop === 'max_turns' || last?.stop === 'budget') return 'limited'
  return last?.status === 'error' ? 'failed' : 'done'
}

/** The state according to the log, the lease and the inbox. */
export async function liveState(
  store: SessionStore,
  { id, state }: { readonly id: string; readonly state: SessionState },
): Promise<SessionState> {
  if (state === 'open') return (await isBeingWritten(store, id)) ? 'running' : 'interrupted'
  if (state !== 'waiting') return state
  if (await isBeingWritten(store, id)) return 'running'
  return (await pendingAnswers(store, id)).length > 0 ? 'answered' : 'waiting'
}

/** Takes the lease and returns it at once: stores have no other way to ask whether it is held. */
export async function isBeingWritten(store: SessionStore, id: string): Promise<boolean> {
  const owner = `libero sessions#${crypto.randomUUID()}`
  try {
    const { epoch } = await store.lease(id, { owner, ttlMs: 1000 })
    await store.lease(id, { owner, ttlMs: 0, epoch })
    return false
  } catch (error) {
    return error instanceof SessionBusyError
  }
}

/** Answers in the inbox, which the next run will read. */
export async function pendingAnswers(store: SessionStore, id: string): Promise<readonly InboxItem[]> {
  return (await inboxOf(store, id)).filter(({ mode }) => mode === 'answer')
}
