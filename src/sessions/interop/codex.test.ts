import { describe, expect, test } from 'vitest'
import { createSession } from '../../index.ts'
import { texts } from '../../testing/index.ts'
import { fromCodex } from './codex.ts'
import { detectTranscript, fromTranscript } from './detect-transcript.ts'

const line = (type: string, payload: object) => ({ timestamp: '2026-03-04T05:06:07.000Z', type, payload })
const item = (payload: object) => line('response_item', payload)
const event = (payload: object) => line('event_msg', payload)
const words = (role: string, text: string) =>
  item({ type: 'message', role, content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }] })
const fn = (call_id: string, name: string, input: object | string) =>
  item({ type: 'function_call', name, arguments: typeof input === 'string' ? input : JSON.stringify(input), call_id })
const output = (call_id: string, given: unknown) => item({ type: 'function_call_output', call_id, output: given })

const meta = line('session_meta', {
  id: 'co-1',
  timestamp: '2026-03-04T05:06:00.000Z',
  cwd: '/home/me/ship',
  originator: 'codex_cli_rs',
  cli_version: '0.98.0',
  source: 'cli',
  model_provider: 'openai',
})

const jsonl = (...lines: object[]): string => lines.map((one) => `${JSON.stringify(one)}\n`).join('')

describe('a rollout of Codex', () => {
  test('gives its messages, and what is known about it', async () => {
    const read = fromCodex(
      jsonl(
        meta,
        words('developer', '<permissions instructions>'),
        words('user', '<environment_context>\n  <cwd>/home/me/ship</cwd>\n</environment_context>'),
        line('turn_context', { cwd: '/home/me/ship', model: 'gpt-5.2-codex', approval_policy: 'never' }),
        words('user', 'Does she float?'),
        event({ type: 'user_message', message: 'Does she float?' }),
        item({
          type: 'reasoning',
          summary: [{ type: 'summary_text', text: '**Looking**' }],
          encrypted_content: 'gAAA',
        }),
        item({ type: 'reasoning', summary: [], encrypted_content: 'gAAB' }),
        fn('call_1', 'shell_command', { command: 'ls hull' }),
        item({
          type: 'custom_tool_call',
          call_id: 'call_2',
          name: 'apply_patch',
          input: '*** Begin Patch',
          status: 'completed',
        }),
        output('call_1', 'Exit code: 0\nOutput:\nplanks'),
        item({ type: 'custom_tool_call_output', call_id: 'call_2', output: '{"output":"Done"}' }),
        item({ type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'floating' } }),
        event({ type: 'token_count', info: null }),
        words('assistant', 'She floats.'),
        event({ type: 'thread_name_updated', thread_id: 'co-1', thread_name: 'The ship' }),
        line('world_state', { any: 1 }),
      ),
    )
    expect(texts(read.messages)).toEqual([
      'user: Does she float?',
      'assistant: **Looking** →shell_command({"command":"ls hull"}) →apply_patch({"input":"*** Begin Patch"})',
      'user: ←Exit code: 0\nOutput:\nplanks ←{"output":"Done"}',
      'assistant: She floats.',
    ])
    expect(read.meta).toEqual({
      id: 'co-1',
      cwd: '/home/me/ship',
      model: 'gpt-5.2-codex',
      createdAt: Date.UTC(2026, 2, 4, 5, 6, 0),
      title: 'The ship',
    })
    expect(read.skipped).toEqual([
      'a message of developer (line 2)',
      'context that Codex added (line 3)',
      'an item of type web_search_call (line 13)',
      'world_state (line 17)',
    ])
    expect(JSON.stringify(read)).not.toContain('gAAA')
    const session = await createSession()
    await session.addTurns(read.messages)
    expect(texts(session.turns)).toEqual(texts(read.messages))
  })

  test('has after a compaction only the history that it was given', () => {
    const history = [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'The question.' }] },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'A summary.' }] },
      { type: 'compaction', encrypted_content: 'gAAA' },
    ]
    const before = [meta, words('user', 'The question.'), words('assistant', 'An answer.')]
    const given = fromCodex(
      jsonl(...before, line('compacted', { message: '', replacement_history: history }), words('assistant', 'On.')),
    )
    expect(texts(given.messages)).toEqual(['user: The question.', 'user: A summary.', 'assistant: On.'])
    expect(given.skipped).toContain('an item of type compaction (line 4)')
    const older = fromCodex(jsonl(...before, line('compacted', { message: 'It was answered.' })))
    expect(texts(older.messages)).toEqual([
      'user: The question.',
      'user: What was said before was summed up as follows:\n\nIt was answered.',
    ])
  })

  test('leaves out turns that were rolled back', () => {
    const { messages, skipped } = fromCodex(
      jsonl(
        meta,
        words('user', 'One.'),
        words('assistant', 'First.'),
        words('user', 'Two.'),
        fn('c', 'shell', {}),
        output('c', 'out'),
        words('user', 'Three.'),
        event({ type: 'thread_rolled_back', num_turns: 2 }),
        words('user', 'Instead.'),
      ),
    )
    expect(texts(messages)).toEqual(['user: One.', 'assistant: First.', 'user: Instead.'])
    expect(skipped).toEqual(['turns that were rolled back (line 8)'])
  })

  test('puts a late result to its call, keeps images, failures and unreadable arguments', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBO' }
    const { messages } = fromCodex(
      jsonl(
        meta,
        item({ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'See.' }, image] }),
        fn('c1', 'shell', '{"command":'),
        item({
          type: 'local_shell_call',
          call_id: 'c2',
          status: 'completed',
          action: { type: 'exec', command: ['ls'] },
        }),
        words('user', 'Hurry.'),
        output('c1', { content: 'bad arguments', success: false }),
        output('c2', [{ type: 'input_text', text: 'a' }, image]),
      ),
    )
    const kept = { type: 'image', mediaType: 'image/png', data: 'iVBO' }
    expect(messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'See.' }, kept] },
      {
        role: 'assistant',
        content: [
          {
            type: 'tool_call',
            id: 'c1',
            name: 'shell',
            input: {},
            raw: '{"command":',
            unreadable: 'the arguments are no JSON',
          },
          { type: 'tool_call', id: 'c2', name: 'local_shell', input: { type: 'exec', command: ['ls'] } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', callId: 'c1', output: 'bad arguments', isError: true },
          { type: 'tool_result', callId: 'c2', output: [{ type: 'text', text: 'a' }, kept] },
          { type: 'text', text: 'Hurry.' },
        ],
      },
    ])
  })

  test('of the older kind has bare items', () => {
    const read = fromCodex(
      jsonl(
        { id: 'old', timestamp: '2025-07-01T00:00:00Z', instructions: null },
        { record_type: 'state' },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello.' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi.' }] },
      ),
    )
    expect(texts(read.messages)).toEqual(['user: Hello.', 'assistant: Hi.'])
    expect(read.meta).toEqual({ id: 'old', createdAt: Date.UTC(2025, 6, 1) })
    expect(read.skipped).toEqual(['state (line 2)'])
  })

  test('may be torn at its end, but not inside', () => {
    const whole = jsonl(meta, words('user', 'Hello.'))
    expect(fromCodex(`${whole}{"timest`).skipped).toEqual(['the last line, which is torn (line 3)'])
    expect(() => fromCodex(`${whole}[1]\n${whole}`)).toThrow('fromCodex: line 3 of the transcript is not a JSON object')
  })
})

test('which program wrote a session file is seen from its lines', () => {
  const files = {
    codex: jsonl(meta, words('user', 'Hello.')),
    pi: jsonl(
      { type: 'session', version: 3, id: 'p', timestamp: '2026-01-01T00:00:00Z', cwd: '/' },
      { type: 'message', id: 'a', parentId: null, message: { role: 'user', content: 'Hello.' } },
    ),
    'claude-code': jsonl(
      { type: 'file-history-snapshot', messageId: 'x', snapshot: {} },
      { type: 'user', uuid: 'u', parentUuid: null, sessionId: 's', message: { role: 'user', content: 'Hello.' } },
    ),
  }
  for (const [program, file] of Object.entries(files)) {
    expect(detectTranscript(file)).toBe(program)
    const read = fromTranscript(file)
    expect([read.program, texts(read.messages)]).toEqual([program, ['user: Hello.']])
  }
  expect(detectTranscript('{"hello":1}\n')).toBeUndefined()
  expect(() => fromTranscript('')).toThrow('not a session file of Claude Code, pi or Codex')
})
