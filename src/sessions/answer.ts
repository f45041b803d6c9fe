import { show } from '../core/behavior.ts'
import { CodedError } from '../core/errors.ts'
import type { InboxItem, Log } from '../core/log.ts'
import { readPrompt } from '../core/run-options.ts'
import type { PendingAnswer } from '../core/store.ts'
import { answerKey, approvalFor, pendingCalls } from './pending.ts'

/** What somebody says about a call, as a message for its session; `undefined` when it was answered before. */
export function answerTo(log: Log, callId: string, given: PendingAnswer): InboxItem | undefined {
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
  if (call.decision) return undefined // the first answer counts
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
