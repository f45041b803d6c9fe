import type { EntryOf } from '../core/log.ts'
import type { PendingCall } from '../core/store.ts'
import type { Transcript } from '../core/transcript.ts'
import type { ToolCallBlock } from '../core/turn.ts'

/** The calls of a session that wait for a person: halted by a gate, or suspended by their own tool. */
export function pendingCalls(transcript: Transcript): PendingCall[] {
  const run = transcript.runs.at(-1)
  const stop = run?.status === 'suspended' ? run.stop : undefined
  return transcript.openCalls.flatMap((call) => {
    const asked = approvalFor(transcript, call.id)
    if (asked) return [describe(call, asked, stop)]
    const inner = pendingWithin(transcript, call, stop)
    if (inner.length > 0) return inner
    // A call that has begun and was suspended put a question; its neighbours only wait for their turn.
    const isSuspended = stop !== undefined && transcript.startOf(call.id) !== undefined
    return isSuspended ? [describe(call, { digest: call.id }, stop)] : []
  })
}

/** What a call waits for that it made itself; each is answered under its own id. */
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

/** The last word about a call that has not begun since. One that has begun may wait for something else. */
export function approvalFor(transcript: Transcript, callId: string): Approval | undefined {
  const asked = transcript.approvals.get(callId)
  const start = transcript.startOf(callId)
  return asked && start && start.seq > asked.seq ? undefined : asked
}

/** One name for all answers to one question, so that the first one counts; what is asked again is another question. */
export function answerKey(transcript: Transcript, { callId, digest }: PendingCall): string {
  const asked = approvalFor(transcript, callId)?.id ?? transcript.startOf(callId)?.attempt ?? 0
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
