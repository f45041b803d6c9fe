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

test('a message is named by six letters of its id and the number at the end; other ids stay as they are', () => {
  expect([messageName(two), messageName('mine')]).toEqual(['012345-12', 'mine'])
})

test('without a name the last one is meant that is for people', () => {
  expect(found()).toBe(other)
})

test('it is found by its id, its name, or a beginning that no other has', () => {
  expect([one, '012345-1', '012345-12', 'fedc'].map(found)).toEqual([one, one, two, other])
})

test('what several have is refused with their names, and so is what nobody said to the agent', () => {
  expect(() => found('0123')).toThrow('"0123" may be 012345-1, 012345-12; type more of it')
  expect(() => found('zz')).toThrow('Agent agent-a has no message "zz"; libero agents show agent-a names them')
  expect(() => found('x')).toThrow('"x" was not said to agent agent-a')
  expect(() => findMessage([], undefined, 'agent-a')).toThrow('there is nothing to go back to')
})
