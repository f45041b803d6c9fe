import { expect, test } from 'vitest'
import { OpenCalls, ZotTurn } from './zot-turn.ts'

test('C007 a call that a service begins twice is ended before it begins again', () => {
  const turn = new ZotTurn('t', (name) => name)
  turn.callStarts('a', 'echo')
  expect(turn.callStarts('a', 'echo').map(({ type }) => type)).toEqual(['tool_use_end', 'tool_use_start'])
  expect(turn.callEnds('a')).toHaveLength(1)
  expect(turn.callEnds('a')).toEqual([])
})

const entry = { seq: 1, id: 'e', at: 0 }
const result = (callId: string, output: string) =>
  ({ ...entry, type: 'call_result', callId, output, outcome: 'done' }) as const
const asked = (callId: string, reason: string) =>
  ({ ...entry, type: 'approval_requested', callId, digest: 'd', reason }) as const
const shown = (id: string, text: string, is_error = false) => ({
  type: 'tool_result',
  id,
  is_error,
  content: [{ type: 'text', text }],
})

function open(...ids: string[]): OpenCalls {
  const calls = new OpenCalls()
  calls.open(ids.map((id) => ({ type: 'tool_call', id, name: 'a', input: {} })))
  return calls
}

test('a call gets one result, and no progress after it', () => {
  const calls = open('1', '2')
  expect(calls.answer(result('2', 'first'))).toEqual([])
  expect(calls.answer(result('2', 'second'))).toEqual([])
  expect(calls.progress('2', 'late')).toEqual([])
  expect(calls.progress('1', 'on time')).toHaveLength(1)
  expect(calls.answer(result('1', 'one'))).toEqual([shown('1', 'one'), shown('2', 'first')])
  expect(calls.answer(result('1', 'again'))).toEqual([])
})

test('calls made by tools, and those of another run, are not shown', () => {
  const calls = open('1')
  expect(calls.answer(result('1.1', 'inner'))).toEqual([])
  expect(calls.progress('1.1', 'inner')).toEqual([])
  expect(calls.closeAll()).toEqual([shown('1', 'Aborted: the run is over', true)])
  expect(calls.closeAll()).toEqual([])
})

test('when a run has to wait, each call says whether it is the one that waits', () => {
  const calls = open('1', 'a.b', '3')
  calls.answer(result('3', 'ready'))
  calls.addWaiting(asked('a.b.2.1', 'a question'))
  expect(calls.closeAll('suspended')).toEqual([
    shown('1', 'Not run: another call of this turn had to wait', true),
    shown('a.b', 'Not run: a question', true),
    shown('3', 'ready'),
  ])
})
