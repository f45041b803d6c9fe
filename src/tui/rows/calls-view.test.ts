import { expect, test } from 'vitest'
import type { EntryBody } from '../../core/log.ts'
import { expectCalls } from '../../view/fold-call.ts'
import type { CallRow } from '../../view/rows.ts'
import { emptyView, foldEntries } from '../../view/session-view.ts'
import { createPaint } from '../terminal/paint.ts'
import { createCallsView } from './calls-view.ts'

/** The lines for a call that needed approval, by its outcome. */
function shown(...bodies: readonly (EntryBody & { readonly at: number })[]): string[] {
  return shownAt(50, ...bodies)
}

function shownAt(columns: number, ...bodies: readonly (EntryBody & { readonly at: number })[]): string[] {
  const view = createCallsView({
    paint: createPaint({ colours: false }),
    cwd: '/desk/project',
    now: () => 0,
    columns: () => columns,
  })
  let session = expectCalls(emptyView, [{ type: 'tool_call', id: 'c', name: 'shell', input: { command: 'make' } }])
  const entries = [{ type: 'approval_requested', callId: 'c', digest: 'd', at: 0 } as const, ...bodies]
  return entries.flatMap((body, i) => {
    session = foldEntries(session, [{ ...body, seq: i + 1, id: String(i) }])
    return view.show(session.rows.at(0) as CallRow)
  })
}

/** The row of a call after these entries. */
function rowAfter(...bodies: readonly (EntryBody & { readonly at: number })[]): CallRow {
  const start = expectCalls(emptyView, [{ type: 'tool_call', id: 'c', name: 'shell', input: { command: 'make' } }])
  const entries = bodies.map((body, i) => ({ ...body, seq: i + 1, id: String(i) }))
  return foldEntries(start, entries).rows.at(0) as CallRow
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

test('a call that was refused in the dialog is shown where the dialog was not: on resume, and in an attached terminal', () => {
  const told = ['⊘ shell make  not allowed', '  No.']
  const options = { paint: createPaint({ colours: false }), cwd: '/desk', now: () => 0, columns: () => 50 }
  const row = rowAfter(answer, blocked)
  expect(createCallsView(options).settled([row])).toEqual(told)
  expect(createCallsView({ ...options, isAskedHere: () => false }).show(row)).toEqual(told)
})

test('a short diff that the dialog has shown is not shown again below it, and on resume it is', () => {
  const diff = '@@ -1 +1 @@\n-old\n+new'
  const preview = { files: [{ path: 'a', change: 'edit' as const, diff }] }
  const asked = {
    type: 'approval_requested',
    callId: 'c',
    digest: 'd',
    request: { payload: { preview } },
    at: 0,
  } as const
  const done = { type: 'call_result', callId: 'c', outcome: 'done', output: 'ok', at: 9000 } as const
  const row = rowAfter(asked, { ...answer, decision: 'allow' }, { ...done, details: { diff } })
  const options = { paint: createPaint({ colours: false }), cwd: '/desk', now: () => 0, columns: () => 50 }
  expect(createCallsView(options).show(row)).toHaveLength(1)
  expect(createCallsView(options).settled([row])).toHaveLength(4)
})

test('why a call failed is wrapped below it with its margin; of a call that was stopped the person knows', () => {
  const failed = { ...blocked, outcome: 'done', output: `It failed: ${'word '.repeat(30)}` } as const
  const [, ...lines] = shownAt(60, { ...answer, decision: 'allow' }, failed)
  expect(lines.length).toBeLessThanOrEqual(3)
  for (const line of lines) expect(line).toMatch(/^ {2}\S.{0,57}$/)
  expect(shown({ ...answer, decision: 'allow' }, { ...blocked, outcome: 'aborted' })).toHaveLength(1)
})

test('a call that was refused elsewhere, or by a rule, is shown', () => {
  const told = ['⊘ shell make  not allowed', '  No.']
  expect(shown({ ...answer, by: 'phone' }, blocked)).toEqual(told)
  expect(shown({ ...answer, clientKey: 'k' }, blocked)).toEqual(told)
  expect(shown({ ...answer, decision: 'allow' }, blocked)).toEqual(told)
})

test('the duration of a call does not include the time to answer its approval', () => {
  const done = { type: 'call_result', callId: 'c', outcome: 'done', output: 'made', at: 11_000 } as const
  expect(shown({ ...answer, decision: 'allow' }, done)).toEqual(['✓ shell make  made · 2.0 s'])
})

test('UI67 the facts of a call stand at the right from 60 columns on, beside it when narrower, below it when too narrow', () => {
  const done = { type: 'call_result', callId: 'c', outcome: 'done', output: 'a\nb', at: 11_000 } as const
  const allowed = { ...answer, decision: 'allow' } as const
  expect(shownAt(80, allowed, done)).toEqual([`✓ shell make${' '.repeat(52)}2 lines · 2.0 s`])
  expect(shownAt(300, allowed, done)).toEqual(['✓ shell make  2 lines · 2.0 s'])
  expect(shownAt(50, allowed, done)).toEqual(['✓ shell make  2 lines · 2.0 s'])
  expect(shownAt(30, allowed, done)).toEqual(['✓ shell make', '  2 lines · 2.0 s'])
})

test('UI68 a list of steps is shown as boxes, not as JSON', () => {
  const todos = [
    { content: 'run the tests', status: 'completed' },
    { content: 'mend\x1b[2J it', status: 'in_progress' },
    { content: 'run them again', status: 'pending' },
  ]
  const done = { type: 'call_result', callId: 'c', outcome: 'done', output: 'Noted', at: 9000 } as const
  const lines = shown({ ...answer, decision: 'allow' }, { ...done, details: { todos } })
  expect(lines.slice(1)).toEqual(['  ☑ run the tests', '  ☐ mend␛[2J it', '  ☐ run them again'])
})
