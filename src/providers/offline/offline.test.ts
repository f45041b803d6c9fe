import { describe, expect, test } from 'vitest'
import type { ModelEvent, ModelReply, ModelRequest } from '../../core/provider.ts'
import type { Message } from '../../core/turn.ts'
import { codingTools } from '../../presets/index.ts'
import { providerContract } from '../../testing/index.ts'
import { type Call, callFor } from './jobs.ts'
import { offline } from './offline.ts'
import { endOf } from './results.ts'

describe('whichever tools there are', () => {
  const request = (prompt: string, ...specs: object[]): ModelRequest => ({
    model: 'offline',
    system: '',
    messages: [{ role: 'user', content: [{ type: 'text', text: prompt }] }],
    tools: specs.map((spec) => ({ description: '', ...spec })) as unknown as ModelRequest['tools'],
    maxTokens: 1000,
    thinking: 'off',
    cache: false,
  })
  const zotEdit = {
    name: 'edit',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string' },
        edits: { type: 'array', items: { type: 'object', properties: { oldText: {}, newText: {} } } },
      },
    },
  }
  const bash = { name: 'bash', inputSchema: { type: 'object', properties: { command: {}, timeout: {} } } }

  test('zot’s names and shapes are spoken', async () => {
    const edit = await replyOf(request('replace a with b in c.txt', bash, zotEdit))
    expect(callIn(edit)).toEqual(['edit', { path: 'c.txt', edits: [{ oldText: 'a', newText: 'b' }] }])
    expect(callIn(await replyOf(request('list src', bash)))).toEqual(['bash', { command: 'ls -Ap -- src' }])
    expect(callIn(await replyOf(request("search for it's", bash)))).toEqual([
      'bash',
      { command: `grep -rnF -- 'it'\\''s' .` },
    ])
  })

  test('a search is for a text, not for a pattern', async () => {
    const reply = await replyOf(request('search for "a.b(c)"', codingTools.grep.spec))
    expect(callIn(reply)).toEqual(['grep', { pattern: 'a\\.b\\(c\\)', path: '.', output_mode: 'content' }])
  })

  test('a tool that is missing is named', async () => {
    const reply = await replyOf(request('create a.txt with b', bash))
    expect(textIn(reply)).not.toBe('')
    expect(textIn(await replyOf(request('fetch https://example.com', bash)))).toContain('the tool web_fetch')
    expect(textIn(await replyOf(request('run pwd')))).toContain('no tools are offered')
  })

  test('a prompt that cannot be read gets a plain answer, however long or strange', async () => {
    expect(textIn(await replyOf(request('')))).toContain('nothing in your message')
    const long = textIn(await replyOf(request('list '.repeat(200_000))))
    expect(long).toContain('no more than 100000')
    const image = { type: 'image', mediaType: 'image/png', data: 'AA==' } as const
    const pictures = { ...request(''), messages: [{ role: 'user', content: [image] }] as Message[] }
    expect(textIn(await replyOf(pictures))).toContain('cannot see pictures')
  })

  test('an answer takes the shape of a forced tool where a text will do, and says so where not', async () => {
    const said: Message[] = [
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello.' }] },
      { role: 'user', content: [{ type: 'text', text: 'Give the final answer now.' }] },
    ]
    const output = (properties: object, required: string[]) => ({
      ...request('', { name: '__output__', inputSchema: { type: 'object', properties, required } }),
      messages: said,
      toolChoice: { name: '__output__' },
    })
    const text = await replyOf(output({ answer: { type: 'string' }, list: { type: 'array' } }, ['answer', 'list']))
    expect(callIn(text)).toEqual(['__output__', { answer: 'Hello.', list: [] }])
    const number = await replyOf(output({ age: { type: 'integer' } }, ['age']))
    expect(textIn(number)).toContain('I cannot answer in the shape')
  })
})

test('an abort ends it between two pieces', async () => {
  const stop = new AbortController()
  const messages: Message[] = [{ role: 'user', content: [{ type: 'text', text: 'help' }] }]
  const request = {
    model: 'offline',
    system: '',
    messages,
    tools: [],
    maxTokens: 9,
    thinking: 'off',
    cache: false,
  } as const
  const read = async () => {
    for await (const event of offline({ delayMs: 1 }).stream(request, stop.signal))
      if (event.type === 'text') stop.abort()
  }
  await expect(read()).rejects.toThrow(/abort/i)
})

test('options that mean nothing are refused', () => {
  expect(() => offline({ chunk: 0 })).toThrow('chunk must be a whole number of at least 1, got 0')
})

describe('it is a provider as any other', () => {
  const said = (text: string): { messages: Message[]; tools: ModelRequest['tools'] } => ({
    messages: [{ role: 'user', content: [{ type: 'text', text }] }],
    tools: [codingTools.listFiles.spec],
  })
  const cases = providerContract(() => offline(), { text: said('help'), toolCall: said('list the files in src') })
  test.each(cases.map(({ name, run }) => [name, run] as const))('%s', (_, run) => run())
})

async function replyOf(request: ModelRequest): Promise<ModelReply> {
  let last: ModelEvent | undefined
  for await (const event of offline({ chunk: 5000 }).stream(request, new AbortController().signal)) last = event
  return last as ModelReply
}

const textIn = ({ content }: ModelReply): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('')

function callIn({ content }: ModelReply): unknown[] {
  const call = content.find((block) => block.type === 'tool_call')
  return call?.type === 'tool_call' ? [call.name, JSON.parse(String(call.input))] : []
}

test.each([
  ['a\n(exit 0)\n(exit 4, 2ms)', true, 4],
  ['a (exit 3)\n(exit 3)\n(exit 0, 2ms)', false, 0],
  ['$ x\n[exit 0]\n[exit -1] (timed out) 9.00s', true, -1],
  ['(exit 0)\n(timed out after 9s)', true, 137],
  ['(killed by SIGKILL, 2ms)', true, 137],
])('how a command ended is not what it printed: %j', (text, isError, exitCode) => {
  expect(endOf({ text, isError }).exitCode).toBe(exitCode)
})

test.each(['-delete', '(', '!x'])('a folder is no part of the expression of find, whatever its name is: %s', (path) => {
  const bash = { name: 'bash', description: '', inputSchema: { type: 'object', properties: { command: {} } } }
  const { input } = callFor({ do: 'files', pattern: '**/x', path }, [bash]) as Call
  expect(input.command).toMatch(/^find '?\.\//)
})
