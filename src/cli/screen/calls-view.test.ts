import { expect, test } from 'vitest'
import type { EntryBody, LogEntry } from '../../core/log.ts'
import { createCallsView } from './calls-view.ts'
import { createPaint } from './paint.ts'

/** The lines for a call that needed approval, by its outcome. */
function shown(...bodies: readonly (EntryBody & { readonly at: number })[]): string[] {
  const view = createCallsView({
    paint: createPaint({ colours: false }),
    cwd: '/desk/project',
    now: () => 0,
    columns: () => 80,
  })
  view.expect([{ type: 'tool_call', id: 'c', name: 'shell', input: { command: 'make' } }])
  const entries = [{ type: 'approval_requested', callId: 'c', digest: 'd', at: 0 } as const, ...bodies]
  return entries.flatMap((body, seq) =>
    view.show({ durable: true, seq, entry: { ...body, seq, id: String(seq) } as LogEntry }),
  )
}

const answer = { type: 'approval_answered', callId: 'c', digest: 'd', decision: 'deny', by: 'user', at: 9000 } as const
const blocked = {
  type: 'call_result',
  callId: 'c',
  outcome: 'blocked',
  output: 'No.',
  isError: true,
  at: 9001,
} as const

test('a call that was refused in the dialog is not shown again', () => {
  expect(shown(answer, blocked)).toEqual([])
})

test('a call that was refused elsewhere, or by a rule, is shown', () => {
  const told = ['✗ shell make  not allowed', '  No.']
  expect(shown({ ...answer, by: 'phone' }, blocked)).toEqual(told)
  expect(shown({ ...answer, clientKey: 'k' }, blocked)).toEqual(told)
  expect(shown({ ...answer, decision: 'allow' }, blocked)).toEqual(told)
})

test('the duration of a call does not include the time to answer its approval', () => {
  const done = { type: 'call_result', callId: 'c', outcome: 'done', output: 'made', at: 11_000 } as const
  expect(shown({ ...answer, decision: 'allow' }, done)).toEqual(['✓ shell make  made · 2.0 s'])
})
