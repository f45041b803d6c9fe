import { expect, test } from 'vitest'
import { elsewhereAnswer } from './open-lists.ts'

test.each([
  [
    { status: 'accepted', value: { scope: 'once' } },
    { decision: 'allow', scope: 'once' },
  ],
  [{ status: 'accepted', value: { calls: { c: 'allow' } } }, { decision: 'allow' }],
  [{ status: 'accepted', value: { calls: { c: 'deny', d: 'allow' } } }, { decision: 'deny' }],
  [{ status: 'accepted', value: { calls: { d: 'allow' } } }, { decision: 'deny' }],
  [
    { status: 'rejected', reason: 'too early' },
    { decision: 'deny', note: 'too early' },
  ],
  [{ status: 'timeout' }, { decision: 'deny' }],
] as const)('UI60 what a dialog answers, %j, is what the other session gets', (response, answer) => {
  expect(elsewhereAnswer({ callId: 'c' }, response)).toEqual(answer)
})

test.each([
  [{ status: 'accepted', value: 'blue' }, 'blue'],
  [{ status: 'accepted', value: [{ label: 'a' }, 'b'] }, 'a, b'],
  [{ status: 'accepted', value: true }, 'yes'],
  [{ status: 'rejected', reason: '' }, 'no'],
] as const)('UI60 a question elsewhere is answered with a text: %j', (response, text) => {
  expect(elsewhereAnswer({ callId: 'c', isQuestion: true }, response)).toEqual({ text })
})
