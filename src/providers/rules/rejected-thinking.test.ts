import { expect, test } from 'vitest'
import type { Message, SessionContentBlock } from '../../core/turn.ts'
import { RejectedThinking } from './rejected-thinking.ts'

const text = (words: string): SessionContentBlock => ({ type: 'text', text: words })
const thought: SessionContentBlock = { type: 'thinking', text: 'Hm.', signature: 's' }
const bound = {
  type: 'tool_call',
  id: 'a',
  name: 'look',
  input: {},
  providerData: { w: { bound: 1, kept: 2 }, x: null },
} as SessionContentBlock
const user = (...content: SessionContentBlock[]): Message => ({ role: 'user', content })
const said = (...content: SessionContentBlock[]): Message => ({ role: 'assistant', content })
const asked = said(thought, bound)
const answered = user({ type: 'tool_result', callId: 'a', output: 'seen' })

const conversation = [
  user(text('Hi')),
  asked,
  answered,
  said(thought, text('So.')),
  user(text('And?')),
  asked,
  answered,
]

test('thinking that was not rejected stays, in the same list object', () => {
  expect(new RejectedThinking().withoutRejected(conversation)).toBe(conversation)
})

test('FP-34 rejected thinking is left out of turns that are over, with all that is bound to a model', () => {
  const old = new RejectedThinking()
  old.reject(conversation)
  const shown = old.withoutRejected(conversation)
  expect(shown[1]!.content).toEqual([{ ...bound, providerData: { w: { kept: 2 }, x: {} } }])
  expect(shown[3]!.content).toEqual([text('So.')])
  expect(shown[5]).toBe(asked) // it belongs to calls that go on
  expect(old.withoutRejected(conversation)[1]).toBe(shown[1])
  expect(old.withoutRejected([user(text('Another conversation'))])).toHaveLength(1)
})

test('FP-34 a conversation is known again although its messages were made anew, and no other is taken for it', () => {
  const old = new RejectedThinking()
  const turn = { ...asked, id: 't1' } as Message
  expect(old.reject([user(text('Hi')), turn, user(text('And?'))])).toBe(true)
  expect(old.isRejected([user(text('Edited')), { ...turn }, user(text('And?'))])).toBe(true)
  expect(old.isRejected([user(text('Hi')), { ...turn, id: 't2' } as Message])).toBe(false)
  expect(old.isRejected([user(text('Hi'))])).toBe(false)
})

test('FP-34 where there is nothing to leave out, or no more, nothing is rejected', () => {
  const old = new RejectedThinking()
  const plain = [user(text('Hi')), said(text('So.')), user(text('And?'))]
  expect([old.reject(plain), old.isRejected(plain)]).toEqual([false, false])
  expect([old.reject(conversation), old.reject(conversation)]).toEqual([true, false])
})
