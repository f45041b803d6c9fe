import { expect, test } from 'vitest'
import type { AgentInstanceMessage } from '../../plugins/message.ts'
import { findMessage, messageName } from './find-message.ts'

const said = (id: string, more: Partial<AgentInstanceMessage> = {}): AgentInstanceMessage => ({
  ...{ id, agentId: 'agent-a', role: 'user', content: id, ...more },
})
const one = '0123456789abcdef0123-1'
const two = '0123456789abcdef0123-12'
const other = 'fedcba9876543210fedc-1'
const messages = [said(one), said('x', { role: 'assistant' }), said(two), said(other), said('n', { hidden: true })]
const found = (asked?: string): string => findMessage(messages, asked, 'agent-a').id

test('the short form of an id is its first six letters and its last number; other ids are unchanged', () => {
  expect([messageName(two), messageName('mine')]).toEqual(['012345-12', 'mine'])
})

test('by default it finds the last message that is not hidden', () => {
  expect(found()).toBe(other)
})

test('a message is found by its id, its short form, or a unique beginning of the id', () => {
  expect([one, '012345-1', '012345-12', 'fedc'].map(found)).toEqual([one, one, two, other])
})

test('an ambiguous beginning is refused with the candidates, and so is a message that is not to the agent', () => {
  expect(() => found('0123')).toThrow('"0123" may be 012345-1, 012345-12; type more of it')
  expect(() => found('zz')).toThrow('Agent agent-a has no message "zz"; libero agents show agent-a prints the names')
  expect(() => found('x')).toThrow('"x" is not a message to agent agent-a')
  expect(() => findMessage([], undefined, 'agent-a')).toThrow('there is nothing to go back to')
})
