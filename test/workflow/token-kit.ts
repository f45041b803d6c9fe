import type { Message } from '../../src/core/turn.ts'

/** Messages of so many tokens, by estimate. */
export const user = (tokens: number): Message => ({
  role: 'user',
  content: [{ type: 'text', text: 'abcd'.repeat(tokens) }],
})
export const assistant = (tokens: number): Message => ({ ...user(tokens), role: 'assistant' })
/** 10 tokens. */
export const calling = (id: string): Message => ({
  role: 'assistant',
  content: [{ type: 'tool_call', id, name: 'read', input: {}, raw: 'x'.repeat(36) }],
})
export const result = (callId: string, tokens: number): Message => ({
  role: 'user',
  content: [{ type: 'tool_result', callId, output: 'abcd'.repeat(tokens) }],
})
