import type { PendingCall, SessionStore } from '../core/store.ts'
import { inboxOf } from './pending.ts'
import { loadSession } from './session.ts'

/** A call of a session or of one of its descendants that waits for a person and has no answer yet. */
export type OpenCall = PendingCall & {
  readonly sessionId: string
  /** It waits for a decision. Else its tool asked a question. */
  readonly wasAsked: boolean
}

/** Calls of the session and its children that have no answer yet, neither in the log nor in the inbox. */
export async function openCalls(store: SessionStore, id: string): Promise<readonly OpenCall[]> {
  const session = await loadSession(store, id)
  const open = (await session.pendingInTree()).filter(({ decision }) => decision === undefined)
  const calls: OpenCall[] = []
  for (const call of open) {
    const answers = (await inboxOf(store, call.sessionId)).filter(({ mode }) => mode === 'answer')
    if (
      answers.some((item) => item.answer?.callId === call.callId && (item.answer.digest ?? call.digest) === call.digest)
    )
      continue
    const owner = call.sessionId === id ? session : await loadSession(store, call.sessionId)
    calls.push({ ...call, wasAsked: owner.log.transcript.approvals.has(call.callId) })
  }
  return calls
}
