import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { call, scripted, texts } from '../../src/testing/index.ts'
import { type ChatServer, startChatServer, timesIn } from './chat-kit.ts'
import { token, tool } from './server-kit.ts'

const clientOf = ({ url }: ChatServer, options: object = {}): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1/openai/v1`, apiKey: token, ...options })

test('SV60 the official client gets a completion, with its usage, and streams another', async () => {
  const model = scripted({ thinking: 'Hm.', text: 'Four.', usage: { input: 7, output: 3, cacheRead: 2 } }, 'Five.')
  const server = await startChatServer({ provider: () => model })
  const client = clientOf(server)
  const messages = [{ role: 'user' as const, content: 'Two and two?' }]
  const whole = await client.chat.completions.create({ model: 'any', messages })
  expect(whole).toMatchObject({
    object: 'chat.completion',
    model: 'libero',
    choices: [
      { index: 0, message: { role: 'assistant', content: 'Four.', reasoning_content: 'Hm.' }, finish_reason: 'stop' },
    ],
    usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12, prompt_tokens_details: { cached_tokens: 2 } },
  })
  const stream = client.chat.completions.stream({ model: 'any', messages, stream_options: { include_usage: true } })
  const deltas: string[] = []
  stream.on('content', (delta) => deltas.push(delta))
  const final = await stream.finalChatCompletion()
  expect([deltas.join(''), final.choices[0]?.message.content, final.usage?.total_tokens]).toEqual([
    'Five.',
    'Five.',
    15,
  ])
  expect((await client.models.list()).data).toMatchObject([{ id: 'libero', object: 'model', owned_by: 'libero' }])
  expect(server.errors).toEqual([])
})

test('SV61 the agent runs its tools itself: a client sees what it says before and after them, and no calls', async () => {
  const server = await startChatServer({
    provider: () => scripted({ text: 'I look.', calls: [call('c1', 'look')] }, 'It is blue.'),
    tools: { look: tool('look') },
  })
  const messages = [{ role: 'user' as const, content: 'Which colour?' }]
  const { choices } = await clientOf(server).chat.completions.create({ model: 'libero', messages })
  expect(choices).toMatchObject([{ message: { content: 'I look.\n\nIt is blue.' }, finish_reason: 'stop' }])
  expect(choices[0]?.message.tool_calls).toBeUndefined()
})

test('SV61 a call that waits for a person is said in the reply, and answered as any other', async () => {
  const model = scripted([call('c1', 'write')], 'Done.')
  const server = await startChatServer({
    provider: () => model,
    tools: { write: tool('write', { gated: true } as never) },
  })
  const messages = [{ role: 'user' as const, content: 'Write' }]
  const { choices } = await clientOf(server).chat.completions.create({ model: 'libero', messages })
  expect(choices[0]?.message.content).toBe('[Waits for a person; see GET /v1/pending]')
  expect((await server.send('GET', '/v1/pending')).body.pending).toMatchObject([{ callId: 'c1', name: 'write' }])
})

test('SV62 a request without a session begins a new one with its history, and one that names a session goes on with it', async () => {
  const model = scripted('A.', 'B.', 'C.')
  const server = await startChatServer({ provider: () => model })
  const client = clientOf(server)
  await client.chat.completions.create({
    model: 'libero',
    messages: [
      { role: 'system', content: 'Be somebody else' },
      { role: 'user', content: 'One' },
      { role: 'assistant', content: 'First' },
      { role: 'user', content: 'Two' },
      { role: 'user', content: 'and a half' },
    ],
  })
  expect(texts(model.requests[0]!.messages)).toEqual(['user: One', 'assistant: First', 'user: Two and a half'])
  expect(JSON.stringify(model.requests[0])).not.toContain('somebody else')
  const named = { headers: { 'x-session-id': encodeURIComponent('meine Übung') } }
  const ask = (content: string) => [
    { role: 'user' as const, content: 'not sent again' },
    { role: 'user' as const, content },
  ]
  const { response } = await client.chat.completions
    .create({ model: 'x', messages: ask('Three') }, named)
    .withResponse()
  expect(response.headers.get('x-session-id')).toBe(named.headers['x-session-id'])
  await client.chat.completions.create({ model: 'x', messages: ask('Four'), metadata: { session: 'meine Übung' } })
  expect(texts(model.requests[2]!.messages)).toEqual(['user: Three', 'assistant: B.', 'user: Four'])
  const { sessions } = (await server.send('GET', '/v1/sessions')).body
  expect(sessions.map(({ tags }: { tags: string[] }) => tags)).toEqual([[], ['openai']])
})

test('SV63 a request that is made again with its key is one message with one reply', async () => {
  const model = scripted('Once.')
  const server = await startChatServer({ provider: () => model })
  const client = clientOf(server)
  const messages = [{ role: 'user' as const, content: 'Only once' }]
  const keyed = { headers: { 'idempotency-key': 'k1' } }
  const first = await client.chat.completions.create({ model: 'libero', messages }, keyed)
  const second = await client.chat.completions.create({ model: 'libero', messages }, keyed)
  expect(second.choices).toEqual(first.choices)
  expect(model.requests).toHaveLength(1)
  expect(await timesIn(server.store, 'openai-k1', 'Only once')).toBe(1)
})

test('SV64 what is refused, and a run that fails, are errors as the official client knows them', async () => {
  const model = scripted(new Error('the model is on strike'), new Error('still on strike'))
  const server = await startChatServer({ provider: () => model, limits: { messagesPerMinute: 2 } })
  const messages = [{ role: 'user' as const, content: 'Work' }]
  const client = clientOf(server, { maxRetries: 0 })
  const failed = (request: object, as: OpenAI = client) =>
    as.chat.completions.create({ model: 'libero', messages, ...request } as never).then(
      () => undefined,
      (error: unknown) => error,
    )
  expect(await failed({}, clientOf(server, { apiKey: 'wrong' }))).toMatchObject({
    status: 401,
    type: 'authentication_error',
  })
  expect(await failed({ messages: [] })).toMatchObject({ status: 400, type: 'invalid_request_error' })
  expect(await failed({ messages: [{ role: 'assistant', content: 'I' }] })).toMatchObject({ status: 400 })
  expect(await failed({ tools: [{ type: 'function', function: { name: 'f' } }] })).toMatchObject({ status: 400 })
  expect(await failed({ n: 2 })).toMatchObject({ status: 400, message: expect.stringContaining('leave n out') })
  // With its retries: a run that failed is not begun again by itself.
  expect(await failed({}, clientOf(server))).toMatchObject({
    status: 500,
    message: expect.stringContaining('on strike'),
  })
  expect(model.requests).toHaveLength(1)
  const stream = await client.chat.completions.create({ model: 'libero', messages, stream: true })
  const read = async () => {
    for await (const _ of stream);
  }
  await expect(read()).rejects.toThrow('still on strike')
  expect(await failed({})).toMatchObject({ status: 429, type: 'rate_limit_error', code: 'too_many_messages' })
  const elsewhere = await fetch(`${server.url}/v1/openai/v1/models`, {
    headers: { authorization: `Bearer ${token}`, origin: 'http://evil.example' },
  })
  expect(elsewhere.status).toBe(403)
})
