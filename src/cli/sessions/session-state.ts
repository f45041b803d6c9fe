import { SessionBusyError } from '../../core/errors.ts'
import type { InboxItem } from '../../core/log.ts'
import type { SessionStore } from '../../core/store.ts'
import { inboxOf } from '../../sessions/inbox-of.ts'
import type { SessionState, SessionSummary } from './summary.ts'

/** What its log does not say about a session: whether somebody writes it just now, or has answered what it waits for. */
export async function liveState(
  store: SessionStore,
  { id, state }: Pick<SessionSummary, 'id' | 'state'>,
): Promise<SessionState> {
  if (state === 'open') return (await isBeingWritten(store, id)) ? 'running' : 'interrupted'
  if (state !== 'waiting') return state
  if (await isBeingWritten(store, id)) return 'running'
  return (await waitingAnswers(store, id)).length > 0 ? 'answered' : 'waiting'
}

/** Asks for the right to write and gives it back at once: no store tells in another way who holds it. */
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

/** Answers that were given, and that the next run will read. */
export async function waitingAnswers(store: SessionStore, id: string): Promise<readonly InboxItem[]> {
  return (await inboxOf(store, id)).filter(({ mode }) => mode === 'answer')
}

/** A state in words, for people. */
export const stateLabels: Readonly<Record<SessionState, string>> = {
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
}
