import { expect, test } from 'vitest'
import type { PendingApproval } from '../../workflow/agent/pending-calls.ts'
import { waitingJson, waitingLines } from './pending-calls.ts'

const waits = (sessionId: string, callId: string): PendingApproval => ({
  ...{ sessionId, callId, approvalId: `${sessionId}/${callId}`, name: 'shell', input: {} },
  ...{ reason: 'permission-required', digest: 'd', isQuestion: false },
})
const command = (call: PendingApproval, ...others: readonly PendingApproval[]): string | undefined =>
  waitingLines(call, 'agent-a', [call, ...others]).at(-1)

test('a call is named by its short id, unless a call of a sub-agent has the same', () => {
  const own = waits('agent-a', 'call_0')
  const child = waits('agent-a/dig', 'call_0')
  expect(command(own)).toBe('To answer: libero agents answer agent-a call_0 --allow (or --deny)')
  expect(command(own, child)).toContain('answer agent-a agent-a/call_0 --allow')
  expect(command(child)).toContain('answer agent-a agent-a/dig/call_0 --allow')
  expect(waitingJson(child)).toMatchObject({ callId: 'call_0', approvalId: 'agent-a/dig/call_0' })
})
