import type { PendingCall } from '../core/store.ts'
import type { Transcript } from '../core/transcript.ts'
import type { ToolCallBlock } from '../core/turn.ts'

/** The calls of a session that wait for a person: halted by a gate, or suspended by their own tool. */
export function pendingCalls(transcript: Transcript): PendingCall[] {
  const run = transcript.runs.at(-1)
  const stop = run?.status === 'suspended' ? run.stop : undefined
  return transcript.openCalls.flatMap((call) => {
    const asked = transcript.approvals.get(call.id)
    if (asked) return [describe(call, asked, stop)]
    // A call that has begun and was suspended put a question; its neighbours only wait for their turn.
    const isSuspended = stop !== undefined && transcript.startOf(call.id) !== undefined
    return isSuspended ? [describe(call, { digest: call.id }, stop)] : []
  })
}

type Asked = { readonly digest: string } & Partial<Pick<PendingCall, 'reason' | 'request' | 'decision'>>

function describe({ id, name, input }: ToolCallBlock, asked: Asked, stop = 'suspended'): PendingCall {
  const { digest, reason = stop, request, decision } = asked
  return {
    ...{ callId: id, name, input, reason, digest },
    ...(request !== undefined && { request }),
    ...(decision && { decision }),
  }
}
