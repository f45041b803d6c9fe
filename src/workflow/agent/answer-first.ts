import type { LogEntry } from '../../core/log.ts'
import { readPrompt } from '../../core/run-options.ts'
import type { PendingCall, Session, SessionStore } from '../../core/store.ts'
import type { SessionContentBlock } from '../../core/turn.ts'
import { inboxOf } from '../../sessions/inbox-of.ts'
import { answerKey } from '../../sessions/pending.ts'
import { withSpill } from '../../sessions/spill.ts'

/**
 * Sends an answer to a call, and throws where somebody else's came before it. All answers to one question have one name
 * in the store, and the first one counts: whoever was second would not know otherwise.
 */
export async function answerFirst(
  { store, session, call }: { readonly store: SessionStore; readonly session: Session; readonly call: PendingCall },
  given: { readonly decision?: 'allow' | 'deny'; readonly content?: string },
  send: () => Promise<void>,
): Promise<void> {
  const key = answerKey(session.log.transcript, call)
  await send()
  const first = await sentAs(key, withSpill(store), session)
  const counts = first && (first.decision ?? wordsOf(first.content))
  if (counts === undefined || counts === (given.decision ?? wordsOf(readPrompt(given.content)))) return
  throw new Error(
    `call "${call.callId}" (${call.name}) was answered by somebody else first, with ${JSON.stringify(counts)}; this answer was not taken`,
  )
}

interface Sent {
  readonly decision?: string
  readonly content?: readonly SessionContentBlock[]
}

/** From the inbox first: what is no longer there is in the log. */
async function sentAs(key: string, store: SessionStore, { id, log }: Session): Promise<Sent | undefined> {
  const waiting = (await inboxOf(store, id, log.head)).find(({ clientKey }) => clientKey === key)
  if (waiting) return { ...waiting.answer, content: waiting.content }
  return (await store.read(id)).find(
    (entry): entry is LogEntry & Sent => 'clientKey' in entry && entry.clientKey === key,
  )
}

function wordsOf(content: readonly SessionContentBlock[] = []): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('')
}
