import { describe, expect, test } from 'vitest'
import { createSession } from '../../index.ts'
import { texts } from '../../testing/index.ts'
import { fromPi } from './pi.ts'

const header = {
  type: 'session',
  version: 3,
  id: 'pi-1',
  timestamp: '2026-02-03T04:05:06.000Z',
  cwd: '/home/me/garden',
}
const timestamp = '2026-02-03T04:06:00.000Z'

const entry = (type: string, id: string, parentId: string | null, more: object = {}) => ({
  type,
  id,
  parentId,
  timestamp,
  ...more,
})
const message = (id: string, parentId: string | null, body: object) =>
  entry('message', id, parentId, { message: { timestamp: 1770091566000, ...body } })
const user = (id: string, parentId: string | null, content: unknown) => message(id, parentId, { role: 'user', content })
const assistant = (id: string, parentId: string | null, content: object[], more: object = {}) =>
  message(id, parentId, {
    role: 'assistant',
    content,
    api: 'anthropic-messages',
    provider: 'anthropic',
    model: 'claude-sonnet-4-5',
    stopReason: 'stop',
    ...more,
  })
const result = (id: string, parentId: string, toolCallId: string, content: object[], isError = false) =>
  message(id, parentId, { role: 'toolResult', toolCallId, toolName: 'bash', content, isError })
const said = (text: string) => ({ type: 'text', text })

const jsonl = (...lines: object[]): string => lines.map((one) => `${JSON.stringify(one)}\n`).join('')

describe('a session of pi', () => {
  test('gives its messages, and what is known about it', async () => {
    const read = fromPi(
      jsonl(
        header,
        entry('model_change', 'm0', null, { provider: 'anthropic', modelId: 'claude-haiku' }),
        entry('thinking_level_change', 't0', 'm0', { thinkingLevel: 'high' }),
        user('u1', 't0', 'What grows here?'),
        assistant('a1', 'u1', [
          { type: 'thinking', thinking: 'I should look.', thinkingSignature: 'sig' },
          said('Looking.'),
          { type: 'toolCall', id: 'c1', name: 'bash', arguments: { command: 'ls beds' } },
          { type: 'toolCall', id: 'c2', name: 'bash', arguments: {} },
        ]),
        result('r1', 'a1', 'c1', [said('beans')]),
        result('r2', 'r1', 'c2', [said('no command'), { type: 'image', data: 'iVBO', mimeType: 'image/png' }], true),
        entry('custom', 'x1', 'r2', { customType: 'my-extension', data: {} }),
        assistant('a2', 'x1', [said('Beans.')]),
        entry('session_info', 'i1', 'a2', { name: 'The garden' }),
      ),
    )
    expect(texts(read.messages)).toEqual([
      'user: What grows here?',
      'assistant: I should look. Looking. →bash({"command":"ls beds"}) →bash({})',
      'user: ←beans ←no command [image]',
      'assistant: Beans.',
    ])
    expect(read.messages[1]?.content[0]).toEqual({ type: 'thinking', text: 'I should look.', signature: 'sig' })
    expect(read.messages[2]?.content[1]).toMatchObject({
      isError: true,
      output: [{}, { mediaType: 'image/png', data: 'iVBO' }],
    })
    expect(read.meta).toEqual({
      id: 'pi-1',
      cwd: '/home/me/garden',
      model: 'claude-sonnet-4-5',
      createdAt: Date.UTC(2026, 1, 3, 4, 5, 6),
      title: 'The garden',
    })
    expect(read.skipped).toEqual(['thinking_level_change (line 3)', 'custom (line 8)'])
    const session = await createSession()
    await session.addTurns(read.messages)
    expect(texts(session.turns)).toEqual(texts(read.messages))
  })

  test('is the path to its last entry, with the summary of the branch it came from', () => {
    const { messages, skipped } = fromPi(
      jsonl(
        header,
        user('u1', null, 'One.'),
        assistant('a1', 'u1', [said('First.')]),
        user('u2', 'a1', 'Left behind.'),
        entry('branch_summary', 'b1', 'a1', { fromId: 'a1', summary: 'They tried something.' }),
        user('u3', 'b1', 'Taken.'),
      ),
    )
    expect(texts(messages)).toEqual([
      'user: One.',
      'assistant: First.',
      'user: Another branch of this conversation was left; it came to this:\n\nThey tried something.',
      'user: Taken.',
    ])
    expect(skipped).toEqual(['another branch (line 4)'])
  })

  test('after compactions has the last summary, what that kept, and what came after', () => {
    const { messages, meta, skipped } = fromPi(
      jsonl(
        header,
        entry('session_info', 'i1', null, { name: 'Old name' }),
        user('u1', 'i1', 'Gone.'),
        assistant('a1', 'u1', [said('Gone too.')]),
        user('u2', 'a1', 'Kept.'),
        entry('compaction', 'k1', 'u2', { summary: 'An earlier summary.', firstKeptEntryId: 'u2', tokensBefore: 9 }),
        assistant('a2', 'k1', [said('Kept too.')]),
        entry('compaction', 'k2', 'a2', { summary: 'It began.', firstKeptEntryId: 'u2', tokensBefore: 9 }),
        user('u3', 'k2', 'New.'),
      ),
    )
    expect(texts(messages)).toEqual([
      'user: What was said before was summed up as follows:\n\nIt began.',
      'user: Kept.',
      'assistant: Kept too.',
      'user: New.',
    ])
    expect(meta.title).toBe('Old name')
    expect(skipped).toEqual(['before a compaction (2 times, first in line 3)'])
  })

  test('of the first format is a list', () => {
    const { id: _, ...rest } = { ...user('', null, 'Hello.'), parentId: undefined }
    const { id: __, ...reply } = { ...assistant('', null, [said('Hi.')]), parentId: undefined }
    const old = { type: 'session', id: 'old', timestamp, cwd: '/x', provider: 'anthropic', modelId: 'claude-2' }
    const compaction = {
      type: 'compaction',
      timestamp,
      summary: 'Said hello.',
      firstKeptEntryIndex: 2,
      tokensBefore: 1,
    }
    expect(texts(fromPi(jsonl(old, rest, reply)).messages)).toEqual(['user: Hello.', 'assistant: Hi.'])
    expect(texts(fromPi(jsonl(old, rest, reply, compaction, rest)).messages)).toEqual([
      'user: What was said before was summed up as follows:\n\nSaid hello.',
      'assistant: Hi.',
      'user: Hello.',
    ])
  })

  test('shows commands of the user, unless the model was not shown them, and messages of extensions', () => {
    const ran = {
      role: 'bashExecution',
      command: 'make',
      output: 'no rule',
      exitCode: 2,
      cancelled: false,
      truncated: false,
    }
    const { messages, skipped } = fromPi(
      jsonl(
        header,
        message('b1', null, ran),
        message('b2', 'b1', { ...ran, excludeFromContext: true }),
        entry('custom_message', 'c1', 'b2', { customType: 'x', content: 'From an extension.', display: true }),
        message('n1', 'c1', { role: 'notice', content: 'Who?' }),
      ),
    )
    expect(texts(messages)).toEqual(['user: The user ran: make\nno rule\n(exit code 2)', 'user: From an extension.'])
    expect(skipped).toEqual(['a command that the model was not shown (line 3)', 'a message of notice (line 5)'])
  })

  test('keeps no signature that is not Anthropic’s', () => {
    const thought = { type: 'thinking', thinking: 'Hm.', thinkingSignature: '{"id":"rs_1"}' }
    const { messages } = fromPi(
      jsonl(header, assistant('a', null, [thought], { api: 'openai-responses', model: 'gpt-5' })),
    )
    expect(messages[0]?.content).toEqual([{ type: 'thinking', text: 'Hm.' }])
  })

  test('may be torn at its end, but not inside, and has a header', () => {
    const whole = jsonl(header, user('u1', null, 'Hello.'))
    expect(fromPi(`${whole}{"ty`).skipped).toEqual(['the last line, which is torn (line 3)'])
    expect(() => fromPi(`${whole}{"ty\n${whole}`)).toThrow('fromPi: line 3 of the transcript is not a JSON object')
    expect(() => fromPi(jsonl(user('u1', null, 'Hello.')))).toThrow('there is no line of type "session"')
  })
})
