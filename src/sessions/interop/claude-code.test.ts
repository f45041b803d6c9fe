import { describe, expect, test } from 'vitest'
import { createSession } from '../../index.ts'
import { texts } from '../../testing/index.ts'
import { fromClaudeCode } from './claude-code.ts'

const about = { sessionId: 'se-1', cwd: '/home/me/shop', version: '2.1.37', gitBranch: 'main', userType: 'external' }
let clock = 0

function line(type: string, uuid: string, parentUuid: string | null, message: object, more: object = {}): object {
  const timestamp = new Date(Date.UTC(2026, 0, 2, 3, 4, ++clock)).toISOString()
  return { parentUuid, isSidechain: false, ...about, type, message, uuid, timestamp, ...more }
}
const user = (uuid: string, parent: string | null, content: unknown, more?: object) =>
  line('user', uuid, parent, { role: 'user', content }, more)
const assistant = (uuid: string, parent: string | null, id: string, block: object, more?: object) =>
  line('assistant', uuid, parent, { id, role: 'assistant', model: 'claude-opus-4-6', content: [block] }, more)
const said = (text: string) => ({ type: 'text', text })
const use = (id: string, input = {}) => ({ type: 'tool_use', id, name: 'Read', input })
const result = (id: string, content: unknown, more = {}) => [{ type: 'tool_result', tool_use_id: id, content, ...more }]

const jsonl = (...lines: object[]): string => lines.map((one) => `${JSON.stringify(one)}\n`).join('')

describe('a session of Claude Code', () => {
  test('gives its messages, each reply as one, and what is known about it', async () => {
    const read = fromClaudeCode(
      jsonl(
        { type: 'summary', summary: 'Mending the till', leafUuid: 'a4' },
        { type: 'file-history-snapshot', messageId: 'u1', snapshot: {} },
        user('u1', null, 'Why is the till wrong?'),
        assistant('a1', 'u1', 'msg_1', { type: 'thinking', thinking: 'Let me see.', signature: 'sig' }),
        assistant('a2', 'a1', 'msg_1', said('I will read it.')),
        assistant('a3', 'a2', 'msg_1', use('toolu_1', { file_path: 'till.ts' })),
        user('u2', 'a3', result('toolu_1', [said('1 + 1 = 3')], { is_error: false }), { toolUseResult: { any: 1 } }),
        { type: 'progress', uuid: 'p1', parentUuid: 'u2', data: {} },
        assistant('a4', 'p1', 'msg_2', said('It adds badly.')),
        { type: 'custom-title', customTitle: 'The till', sessionId: 'se-1' },
      ),
    )
    expect(texts(read.messages)).toEqual([
      'user: Why is the till wrong?',
      'assistant: Let me see. I will read it. →Read({"file_path":"till.ts"})',
      'user: ←1 + 1 = 3',
      'assistant: It adds badly.',
    ])
    expect(read.messages[1]?.content[0]).toEqual({ type: 'thinking', text: 'Let me see.', signature: 'sig' })
    const createdAt = expect.any(Number)
    expect(read.meta).toEqual({
      id: 'se-1',
      cwd: '/home/me/shop',
      model: 'claude-opus-4-6',
      createdAt,
      title: 'The till',
    })
    expect(read.skipped).toEqual(['file-history-snapshot (line 2)', 'progress (line 8)'])
    const session = await createSession()
    await session.addTurns(read.messages)
    expect(texts(session.turns)).toEqual(texts(read.messages))
  })

  test('is the path to the newest leaf', () => {
    const { messages, skipped } = fromClaudeCode(
      jsonl(
        user('u1', null, 'One.'),
        assistant('a1', 'u1', 'm1', said('First answer.')),
        user('u2', 'a1', 'Left behind.'),
        assistant('a2', 'u2', 'm2', said('Also left behind.')),
        user('u3', 'a1', 'Taken instead.'),
        assistant('a3', 'u3', 'm3', said('Second answer.')),
      ),
    )
    expect(texts(messages)).toEqual([
      'user: One.',
      'assistant: First answer.',
      'user: Taken instead.',
      'assistant: Second answer.',
    ])
    expect(skipped).toEqual(['another branch, or before a compaction (2 times, first in line 3)'])
  })

  test('keeps all results of calls that ran side by side, though they fork the tree', () => {
    const { messages } = fromClaudeCode(
      jsonl(
        user('u1', null, 'Read both.'),
        assistant('a1', 'u1', 'm1', use('t1')),
        assistant('a2', 'a1', 'm1', use('t2')),
        user('r1', 'a1', result('t1', 'one')),
        user('r2', 'a2', result('t2', 'two', { is_error: true })),
        assistant('a3', 'r2', 'm2', said('Both read.')),
      ),
    )
    expect(texts(messages)).toEqual([
      'user: Read both.',
      'assistant: →Read({}) →Read({})',
      'user: ←one ←two',
      'assistant: Both read.',
    ])
    expect(messages[2]?.content[1]).toMatchObject({ callId: 't2', isError: true })
  })

  test('begins with the summary after a compaction', () => {
    const boundary = {
      type: 'system',
      subtype: 'compact_boundary',
      uuid: 'b',
      parentUuid: null,
      logicalParentUuid: 'a1',
    }
    const { messages, skipped } = fromClaudeCode(
      jsonl(
        user('u1', null, 'Long ago.'),
        assistant('a1', 'u1', 'm1', said('Yes.')),
        boundary,
        user('s1', 'b', 'They spoke of long ago.', { isCompactSummary: true, isVisibleInTranscriptOnly: true }),
        assistant('a2', 's1', 'm2', said('Going on.')),
      ),
    )
    expect(texts(messages)).toEqual(['user: They spoke of long ago.', 'assistant: Going on.'])
    expect(skipped).toEqual([
      'another branch, or before a compaction (2 times, first in line 1)',
      'system compact_boundary (line 3)',
    ])
  })

  test('leaves out side chains, notes and errors of the program, and names them', () => {
    const { messages, skipped } = fromClaudeCode(
      jsonl(
        user('m', null, 'Caveat: ignore this.', { isMeta: true }),
        user('u1', 'm', 'Hello.'),
        user('x1', null, 'Task of a sub-agent.', { isSidechain: true }),
        assistant('x2', 'x1', 'm9', said('Report.'), { isSidechain: true }),
        assistant('e1', 'u1', 'm1', said('API Error: 529'), { isApiErrorMessage: true }),
        assistant('a1', 'e1', 'm2', { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
        assistant('a2', 'a1', 'm2', said('Hi.')),
      ),
    )
    expect(texts(messages)).toEqual(['user: Hello.', 'assistant: Hi.'])
    expect(skipped).toEqual([
      'a note of the program (isMeta) (line 1)',
      'side chain (2 times, first in line 3)',
      'an error of the program (line 5)',
      'a block of type server_tool_use (line 6)',
    ])
  })

  test('of a sub-agent alone is read as it is', () => {
    const lines = [
      user('u', null, 'Task.', { isSidechain: true }),
      assistant('a', 'u', 'm', said('Done.'), { isSidechain: true }),
    ]
    expect(texts(fromClaudeCode(jsonl(...lines)).messages)).toEqual(['user: Task.', 'assistant: Done.'])
  })

  test('keeps images, in messages and in results', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } }
    const { messages } = fromClaudeCode(
      jsonl(
        user('u1', null, [said('Look.'), image]),
        assistant('a1', 'u1', 'm1', use('t1')),
        user('u2', 'a1', result('t1', [image, { type: 'tool_reference', tool_name: 'x' }])),
      ),
    )
    const kept = { type: 'image', mediaType: 'image/png', data: 'iVBO' }
    expect(messages[0]?.content[1]).toEqual(kept)
    expect(messages[2]?.content[0]).toEqual({ type: 'tool_result', callId: 't1', output: [kept] })
  })

  test('may be torn at its end, but not inside', () => {
    const whole = jsonl(user('u1', null, 'Hello.'))
    const { messages, skipped } = fromClaudeCode(`${whole}{"type":"assis`)
    expect(texts(messages)).toEqual(['user: Hello.'])
    expect(skipped).toEqual(['the last line, which is torn (line 2)'])
    expect(() => fromClaudeCode(`${whole}{"type":"assis\n${whole}`)).toThrow(
      'fromClaudeCode: line 2 of the transcript is not a JSON',
    )
    const wrong = jsonl(
      user('u1', null, 'Hello.'),
      assistant('a', 'u1', 'm', { type: 'tool_use', name: 'x', input: {} }),
    )
    expect(() => fromClaudeCode(wrong)).toThrow(/fromClaudeCode: line 2: .*\.id: found undefined/)
  })
})
