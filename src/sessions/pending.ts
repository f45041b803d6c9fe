import { show } from '../core/behavior.ts'
import { areEditDecisions } from '../core/edit-outcomes.ts'
import { CodedError } from '../core/errors.ts'
import type { CallAnswer, EntryOf, InboxItem, Log, LogEntry } from '../core/log.ts'
import { parsePrompt } from '../core/run-options.ts'
import type { PendingAnswer, PendingCall, SessionStore } from '../core/store.ts'
import type { Transcript } from '../core/transcript.ts'
import { type SessionContentBlock, type ToolCallBlock, textOf } from '../core/turn.ts'

/** The calls of a session that wait for a person: halted by a gate, or suspended by their own tool. */
export function pendingCalls(transcript: Transcript): PendingCall[] {
  const run = transcript.runs.at(-1)
  const stop = run?.status === 'suspended' ? run.stop : undefined
  return transcript.openCalls.flatMap((call) => {
    const asked = approvalFor(transcript, call.id)
    if (asked) return [describe(call, asked, stop)]
    const inner = pendingWithin(transcript, call, stop)
    if (inner.length > 0) return inner
    // A suspended call that has begun asked a question; calls that have not begun only wait for their turn.
    const isSuspended = stop !== undefined && transcript.lastStartOf(call.id) !== undefined
    return isSuspended ? [describe(call, { digest: call.id }, stop)] : []
  })
}

/** The nested calls of a call that wait; each is answered under its own id. */
function pendingWithin(transcript: Transcript, outer: ToolCallBlock, stop: string | undefined): PendingCall[] {
  const halted = [...transcript.approvals.keys()].filter(
    (id) => id.startsWith(`${outer.id}.`) && !transcript.hasCall(id) && !transcript.nestedResultOf(id),
  )
  const approvals = halted.flatMap((id) => {
    const asked = approvalFor(transcript, id)
    return asked ? [describe({ ...outer, ...('call' in asked && asked.call), id }, asked, stop)] : []
  })
  const waiting = new Set([...(stop === undefined ? [] : transcript.nestedWithin(outer.id)), ...halted])
  const isInnermost = (id: string): boolean => ![...waiting].some((other) => other.startsWith(`${id}.`))
  const questions = [...waiting].filter((id) => isInnermost(id) && !approvalFor(transcript, id))
  return [...approvals, ...questions.map((id) => describe({ ...outer, id }, { digest: id }, stop))]
}

type Approval = EntryOf<'approval_requested'> | EntryOf<'approval_answered'>

/** The latest approval entry of a call, unless the call has begun since. */
function approvalFor(transcript: Transcript, callId: string): Approval | undefined {
  const asked = transcript.approvals.get(callId)
  const start = transcript.lastStartOf(callId)
  return asked && start && start.seq > asked.seq ? undefined : asked
}

/** The `clientKey` of all answers to one question, so that only the first one counts. A repeated question has another key. */
function answerKey(transcript: Transcript, { callId, digest }: PendingCall): string {
  const asked = approvalFor(transcript, callId)?.id ?? transcript.lastStartOf(callId)?.attempt ?? 0
  return `answer/${callId}/${digest}/${asked}`
}

type Asked = { readonly digest: string } & Partial<Pick<PendingCall, 'reason' | 'request' | 'signature' | 'decision'>>

function describe({ id, name, input }: ToolCallBlock, asked: Asked, stop = 'suspended'): PendingCall {
  const { digest, reason = stop, request, signature, decision } = asked
  return {
    ...{ callId: id, name, input, reason, digest },
    ...(request !== undefined && { request }),
    ...(signature && { signature }),
    ...(decision && { decision }),
  }
}

/** The present inbox of a session. `head` is the last known entry of its log. Takes no lease. */
export async function inboxOf(store: SessionStore, id: string, head = 0): Promise<readonly InboxItem[]> {
  const enough = new AbortController()
  try {
    // A watch begins with the present state, which is empty if the session was deleted.
    const after = Math.max(0, head - 1)
    for await (const { inbox } of store.watch(id, { after, once: true, signal: enough.signal })) return inbox
    return []
  } finally {
    enough.abort()
  }
}

/** An inbox message that answers a call of a session. */
type AnswerItem = InboxItem & { readonly answer: CallAnswer }

/** Converts a person's answer about a call to an inbox message; `undefined` if the same answer was given before. */
export function createAnswerItem(log: Log, callId: string, answer: PendingAnswer): AnswerItem | undefined {
  const { decision, content, by, scope, where, edits, rule, mac, meta } = answer ?? {}
  const isDecision = decision === 'allow' || decision === 'deny'
  if (!isDecision && decision !== undefined)
    throw new TypeError(`The decision about "${callId}" must be "allow" or "deny", got ${show(decision)}`)
  if (!isDecision && content === undefined)
    throw new TypeError(`An answer to "${callId}" needs a decision, "allow" or "deny", or a content`)

  if (edits !== undefined && (decision !== 'allow' || !areEditDecisions(edits)))
    throw new TypeError(
      `edits of the answer to "${callId}" must come with "allow" and be a list of { decision: "allow" or "deny", note? }`,
    )

  const pending = pendingCalls(log.transcript)
  const call = pending.find((waiting) => waiting.callId === callId)
  const others = pending.map((waiting) => waiting.callId).join(', ') || 'none'
  if (!call) throw new Error(`Session ${log.id}: no call "${callId}" waits for an answer; ${others} does`)
  if (call.decision) return requireSame(call.decision, decision, callId)
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

  const extent = { ...(scope && { scope }), ...(where && { where }), ...(edits && { edits }), ...(rule && { rule }) }
  const choice = isApproval && isDecision && { decision, ...extent }
  return {
    mode: 'answer',
    clientKey: answerKey(log.transcript, call),
    content: parsePrompt(content) ?? [],
    answer: { callId, digest: call.digest, ...choice, ...(by && { by }), ...(mac && { mac }) },
    ...(meta && { meta }),
  }
}

/**
 * Throws if an earlier answer to the same question differs. All answers to one question have the same `clientKey`, and the
 * store keeps only the first of them, so the sender of the second must get an error here.
 */
export async function requireFirstAnswer(item: AnswerItem, log: Log, store: SessionStore): Promise<void> {
  const { clientKey, content, answer } = item
  const first = await firstSent(clientKey, answer.callId, log, store)
  if (!first) return
  requireSame(first.decision ?? wordsOf(first.content), answer.decision ?? wordsOf(content), answer.callId)
  requireSame(JSON.stringify(first.edits ?? []), JSON.stringify(answer.edits ?? []), answer.callId)
}

interface Sent extends Pick<CallAnswer, 'edits'> {
  readonly decision?: string
  readonly content?: readonly SessionContentBlock[]
}

/** The answer that was sent first. It is in the inbox, or in the log after the question. */
async function firstSent(key: string, callId: string, log: Log, store: SessionStore): Promise<Sent | undefined> {
  const waiting = (await inboxOf(store, log.id, log.head)).find(({ clientKey }) => clientKey === key)
  if (waiting) return { ...waiting.answer, content: waiting.content }
  const { seq = 0 } = approvalFor(log.transcript, callId) ?? log.transcript.lastStartOf(callId) ?? {}
  return (await store.read(log.id, { after: seq })).find(
    (entry): entry is LogEntry & Sent => 'clientKey' in entry && entry.clientKey === key,
  )
}

function requireSame(first: string, second: string | undefined, callId: string): undefined {
  if (first === second) return undefined
  throw new CodedError(
    'Session/InteractionAlreadyAnswered',
    `call "${callId}" was answered before, with ${JSON.stringify(first)}; the first answer counts, and this one was not taken`,
  )
}

const wordsOf = (content: readonly SessionContentBlock[] = []): string => textOf({ role: 'user', content })
