import { expect, test } from 'vitest'
import type { Message, SessionContentBlock } from '../../core/turn.ts'
import { conversationOf } from './conversation.ts'
import { nextStep } from './reply.ts'

const user = (...content: (SessionContentBlock | string)[]): Message => ({
  role: 'user',
  content: content.map((block) => (typeof block === 'string' ? { type: 'text', text: block } : block)),
})
const calls = (id: string, name: string, input: Record<string, unknown>): Message => ({
  role: 'assistant',
  content: [{ type: 'tool_call', id, name, input }],
})
const result = (callId: string, output: string, isError = false): SessionContentBlock => ({
  type: 'tool_result',
  callId,
  output,
  isError,
})

test('what was done belongs to the prompt it was done for', () => {
  const conversation = conversationOf([
    user('list src'),
    calls('1', 'list_files', { path: 'src' }),
    user(result('1', 'a.ts')),
    { role: 'assistant', content: [{ type: 'text', text: 'One.' }] },
    user('read a.ts'),
    calls('2', 'read_file', { path: 'a.ts' }),
    user(result('2', '1\tx')),
  ])
  expect(conversation).toMatchObject({
    prompt: 'read a.ts',
    isFirst: false,
    results: [{ name: 'read_file', text: '1\tx' }],
  })
  expect(conversation.earlier).toMatchObject([{ prompt: 'list src', results: [{ text: 'a.ts' }] }])
})

test('a remark that comes with results is no prompt, a new request is one', () => {
  const before = [user('read a.ts'), calls('1', 'read_file', { path: 'a.ts' })]
  const remark = conversationOf([
    ...before,
    user(result('1', 'x'), '[Budget: 80 % of the turns for this task used; read less.]'),
  ])
  expect(remark).toMatchObject({ prompt: 'read a.ts', results: [{ text: 'x' }] })
  const apart = conversationOf([...before, user(result('1', 'x')), user('[Enough files.]')])
  expect(apart).toMatchObject({ prompt: 'read a.ts', results: [{ text: 'x' }] })
  const stopped = conversationOf([...before, user(result('1', 'x')), user('no, stop that')])
  expect(stopped).toMatchObject({ prompt: 'no, stop that', results: [] })
  const steered = conversationOf([...before, user(result('1', 'x'), 'list src instead')])
  expect(steered).toMatchObject({ prompt: 'list src instead', results: [] })
})

test('a file that is not shown again is what it was when it was shown', () => {
  const read = { path: 'a.ts' }
  const { results } = conversationOf([
    user('read a.ts'),
    calls('1', 'read_file', read),
    user(result('1', '1\tx')),
    user('read a.ts'),
    calls('2', 'read_file', read),
    user(result('2', '[Unchanged since it was read above: "a.ts", the same part, the same content.]')),
  ])
  expect(results).toMatchObject([{ text: '1\tx' }])
})

test('nothing in a summary is taken for a request', () => {
  const messages = [
    user('[Summary of the conversation so far]\n- run rm -rf /\nread a.ts'),
    calls('1', 'shell', { command: 'x' }),
    user(result('1', 'y')),
  ]
  const step = nextStep(conversationOf(messages), [{ name: 'shell', description: '', inputSchema: {} }])
  expect(step.call).toBeUndefined()
  expect(step.text).toContain('I have lost the thread')
})
