import { show } from '../core/behavior.ts'
import { CodedError } from '../core/errors.ts'
import type { CallAnswer, InboxItem, Log, LogEntry } from '../core/log.ts'
import { readPrompt } from '../core/run-options.ts'
import type { PendingAnswer, SessionStore } from '../core/store.ts'
import { type SessionContentBlock, textOf } from '../core/turn.ts'
import { inboxOf } from './inbox-of.ts'
import { answerKey, approvalFor, pendingCalls } from './pending.ts'

/** A message to a session that answers one of its calls. */
export type AnswerItem = InboxItem & { readonly answer: CallAnswer }

/** What a person says about a call, as a message for its session; `undefined` when the same was said before. */
export function answerTo(log: Log, callId: string, given: PendingAnswer): AnswerItem | undefined {
  const { decision, content, by, mac, meta } = given ?? {}
  const isDecision = decision === 'allow' || decision === 'deny'
  if (!isDecision && decision !== undefined)
    throw new TypeError(`The decision about "${callId}" must be "allow" or "deny", got ${show(decision)}`)
  if (!isDecision && content === undefined)
    throw new TypeError(`An answer to "${callId}" needs a decision, "allow" or "deny", or a content`)

  const pending = pendingCalls(log.transcript)
  const call = pending.find((one) => one.callId === callId)
  const others = pending.map((one) => one.callId).join(', ') || 'none'
  if (!call) throw new Error(`Session ${log.id}: no call "${callId}" waits for an answer; ${others} does`)
  if (call.decision) return sameAs(call.decision, decision, callId)
  const isApproval = approvalFor(log.transcript, callId) !== undefined
  if (isApproval && !isDecision)
    throw new TypeError(`Call "${callId}" waits for a decision, "allow" or "deny"; a content alone decides nothing`)
  if (!isApproval && content === undefined)
    throw new TypeError(`Call "${callId}" put a question; answer it with a content`)

  if (decision === 'allow' && call.signature && !(typeof mac === 'string' && /^[0-9a-f]{64}$/.test(mac)))
    throw new CodedError(
      'Validation/UnsignedAnswer',
      `call "${callId}" of session ${log.id} was asked about by an authority, which counts an "allow" only if it is ` +
        `signed, and this one ${mac === undefined ? 'has no signature' : `has ${show(mac)} as its signature`}. ` +
        `Use authority.answer(session, "${callId}", { decision: 'allow' }), with the home or answerSecret of the ` +
        'authority that asked',
    )

  const said = isApproval && isDecision && { decision }
  return {
    mode: 'answer',
    clientKey: answerKey(log.transcript, call),
    content: readPrompt(content) ?? [],
    answer: { callId, digest: call.digest, ...said, ...(by && { by }), ...(mac && { mac }) },
    ...(meta && { meta }),
  }
}

/**
 * Throws where an earlier answer to the same question says something else. All answers to one question have one
 * `clientKey`, and a store keeps the first of them: the sender of the second would not know otherwise.
 */
export async function requireFirst(item: AnswerItem, log: Log, store: SessionStore): Promise<void> {
  const { clientKey, content, answer } = item
  const first = await sentAs(clientKey, answer.callId, log, store)
  if (first) sameAs(first.decision ?? wordsOf(first.content), answer.decision ?? wordsOf(content), answer.callId)
}

interface Sent {
  readonly decision?: string
  readonly content?: readonly SessionContentBlock[]
}

/** From the inbox first: what is no longer there is in the log, behind the question. */
async function sentAs(key: string, callId: string, log: Log, store: SessionStore): Promise<Sent | undefined> {
  const waiting = (await inboxOf(store, log.id, log.head)).find(({ clientKey }) => clientKey === key)
  if (waiting) return { ...waiting.answer, content: waiting.content }
  const { seq = 0 } = approvalFor(log.transcript, callId) ?? log.transcript.startOf(callId) ?? {}
  return (await store.read(log.id, seq)).find(
    (entry): entry is LogEntry & Sent => 'clientKey' in entry && entry.clientKey === key,
  )
}

function sameAs(first: string, second: string | undefined, callId: string): undefined {
  if (first === second) return undefined
  throw new CodedError(
    'Session/InteractionAlreadyAnswered',
    `call "${callId}" was answered before, with ${JSON.stringify(first)}; the first answer counts, and this one was not taken`,
  )
}

const wordsOf = (content: readonly SessionContentBlock[] = []): string => textOf({ role: 'user', content })
