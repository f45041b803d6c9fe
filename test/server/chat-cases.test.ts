import { lastAssistantMessageIsCompleteWithToolCalls } from 'ai'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { answersAreComplete, toUIMessages } from '../../src/ai-sdk/index.ts'
import type { ToolDef } from '../../src/core/tool.ts'
import type { SessionContentBlock } from '../../src/core/turn.ts'
import { AgentProviderError, createMemoryStore } from '../../src/index.ts'
import { call, scripted } from '../../src/testing/index.ts'
import { createAskUserTool } from '../../src/tools/index.ts'
import { rounds } from '../soak.ts'
import { gate, onlyReply, outline, plain, startChatServer, timesIn, until } from './chat-kit.ts'
import { gated, token, tool } from './server-kit.ts'

test('SV52 prompts that are sent during a run each get their own reply, and a page that is reloaded gets all of them', async () => {
  const { provider, open } = gated('First reply.', 'Second reply.')
  const { page, store } = await startChatServer({ provider: () => provider })
  const [one, two] = [page('both'), page('both')]
  const first = one.sendMessage({ text: 'One' })
  await until(async () => timesIn(store, 'both', 'One'))
  const second = two.sendMessage({ text: 'Two' })
  await until(async () => JSON.stringify(await store.read('both')).includes('Two'))
  const reloaded = page('both', { messages: toUIMessages(await store.read('both')) })
  const resumed = reloaded.resumeStream()
  await until(() => reloaded.status !== 'ready')
  open()
  await Promise.all([first, second, resumed])
  expect(outline(onlyReply(one.messages))).toEqual(['step-start', 'text: First reply.'])
  expect(outline(onlyReply(two.messages))).toEqual(['step-start', 'text: Second reply.'])
  const replies = reloaded.messages.filter(({ role }) => role === 'assistant')
  expect(replies.map((reply) => outline(reply).at(-1))).toEqual(['text: First reply.', 'text: Second reply.'])
  expect(toUIMessages(await store.read('both')).map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'user',
    'assistant',
  ])
})

test('SV52 a message that steers the run is a part of its reply, before the step that read it', async () => {
  const { opened, open } = gate()
  const begun = gate()
  const model = scripted([call('c1', 'look')], 'Faster now.')
  const { page, store, send } = await startChatServer({
    provider: () => model,
    tools: {
      look: tool('look', {
        execute: async () => {
          begun.open()
          return opened.then(() => 'seen')
        },
      }),
    },
  })
  const chat = page('steered')
  const sent = chat.sendMessage({ text: 'Look' })
  await begun.opened
  await send('POST', '/v1/sessions/steered/messages', { content: 'Hurry', mode: 'steer' })
  await until(async () => JSON.stringify(await store.read('steered')).includes('Hurry'))
  open()
  await sent
  expect(outline(onlyReply(chat.messages))).toEqual([
    ...['step-start', 'look: output-available', 'steering-message', 'step-start', 'text: Faster now.'],
  ])
  expect(plain(chat.messages)).toEqual(plain(toUIMessages(await store.read('steered'))))
})

test('SV53 a message that is changed and sent again takes back what came after it', async () => {
  const model = scripted('Old.', 'Later.', 'New.', 'Newer.')
  const { page, store } = await startChatServer({ provider: () => model })
  const chat = page('edited')
  await chat.sendMessage({ text: 'Before' })
  await chat.sendMessage({ text: 'After' })
  await chat.sendMessage({ text: 'Better', messageId: chat.messages[0]!.id })
  expect(chat.messages.map((message) => outline(message).at(-1))).toEqual(['text: Better', 'text: New.'])
  expect(JSON.stringify(model.requests[2]!.messages)).not.toMatch(/Before|Old|After|Later/)
  await chat.regenerate()
  expect(outline(onlyReply(chat.messages)).at(-1)).toBe('text: Newer.')
  expect(toUIMessages(await store.read('edited')).map((message) => outline(message as never).at(-1))).toEqual([
    'text: Better',
    'text: Newer.',
  ])
})

test('SV53 a message cannot be replaced during a run', async () => {
  const { provider, open } = gated('One.')
  const { page, store } = await startChatServer({ provider: () => provider })
  const chat = page('busy')
  const sent = chat.sendMessage({ text: 'One' })
  await until(() => timesIn(store, 'busy', 'One'))
  const other = page('busy', { messages: toUIMessages(await store.read('busy')) })
  await other.regenerate()
  expect(other.error?.message).toContain('session_busy')
  open()
  await sent
  expect(outline(onlyReply(chat.messages)).at(-1)).toBe('text: One.')
})

test('SV54 text that a failed model call had streamed is taken back before the next try', async () => {
  const half = [{ type: 'start' }, { type: 'text', delta: 'Half of' }] as const
  const model = scripted(half as never, 'Whole.')
  let tries = 0
  const { page } = await startChatServer({
    provider: () => ({
      ...model,
      async *stream(request, signal) {
        yield* model.stream(request, signal)
        if (tries++ === 0) throw new AgentProviderError('the line broke', { retryable: true } as never)
      },
    }),
  })
  const chat = page('retried')
  await chat.sendMessage({ text: 'Go' })
  expect([chat.error?.message, chat.messages[1] && outline(chat.messages[1])]).toEqual([
    undefined,
    ['step-start', 'text: Whole.'],
  ])
})

test('SV56 a question of a tool is answered with an output, and the reply goes on', async () => {
  const model = scripted([call('q1', 'ask', { question: 'Which colour?' })], 'Blue it is.')
  const { page, store } = await startChatServer({
    provider: () => model,
    tools: {
      ask: tool('ask', {
        execute: async (_, { answer, suspend }) => `They say ${textOf(answer ?? suspend('Which colour?'))}`,
      } as Partial<ToolDef>),
    },
  })
  const chat = page('asked', { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls })
  await chat.sendMessage({ text: 'Ask me' })
  expect(outline(onlyReply(chat.messages))).toEqual(['step-start', 'ask: input-available'])
  await chat.addToolOutput({ tool: 'ask', toolCallId: 'q1', output: 'blue' })
  await until(() => outline(onlyReply(chat.messages)).includes('text: Blue it is.') && chat.status === 'ready')
  expect(onlyReply(chat.messages).parts[1]).toMatchObject({ state: 'output-available', output: 'They say blue' })
  expect(plain(chat.messages)).toEqual(plain(toUIMessages(await store.read('asked'))))
})

test('SV56 a question of ask_user, which the server cannot show to a person, is answered with an output', async () => {
  const model = scripted([call('q1', 'ask_user', { question: 'Which colour?' })], 'Blue it is.')
  const { page } = await startChatServer({ provider: () => model, tools: { ask_user: createAskUserTool() as never } })
  const chat = page('user', { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls })
  await chat.sendMessage({ text: 'Ask me' })
  expect(outline(onlyReply(chat.messages))).toEqual(['step-start', 'ask_user: input-available'])
  await chat.addToolOutput({ tool: 'ask_user', toolCallId: 'q1', output: 'blue' })
  await until(() => outline(onlyReply(chat.messages)).includes('text: Blue it is.') && chat.status === 'ready')
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('blue')
})

test('SV56 a call that a tool makes is shown in the approval, and answered there', async () => {
  const model = scripted([call('c1', 'outer')], 'Done.')
  const { page, store } = await startChatServer({
    provider: () => model,
    tools: {
      outer: tool('outer', {
        execute: async (_, ctx) => (await ctx.call('inner', { at: 'disk' })).output,
      } as Partial<ToolDef>),
      inner: tool('inner', { gated: true } as never),
    },
  })
  const chat = page('nested', { sendAutomaticallyWhen: answersAreComplete })
  await chat.sendMessage({ text: 'Go' })
  const [, part] = onlyReply(chat.messages).parts
  expect(part).toMatchObject({
    state: 'approval-requested',
    toolName: 'outer',
    approval: { descriptor: { toolName: 'inner', input: { at: 'disk' } } },
  })
  const { approval } = part as { approval: { id: string } }
  await chat.addToolApprovalResponse({ id: approval.id, approved: true })
  await until(() => outline(onlyReply(chat.messages)).includes('text: Done.') && chat.status === 'ready')
  expect(plain(toUIMessages(await store.read('nested'))[1] as never)).toMatchObject({
    parts: [{}, { output: 'inner done' }, {}, {}],
  })
})

test('SV56 a prompt while a call waits is refused with its reason, and not stored', async () => {
  const { page, store } = await startChatServer({
    provider: () => scripted([call('c1', 'write')]),
    tools: { write: tool('write', { gated: true } as never) },
  })
  const chat = page('waits')
  await chat.sendMessage({ text: 'Write' })
  await chat.sendMessage({ text: 'Never mind' })
  expect([chat.status, chat.error?.message]).toEqual(['error', expect.stringContaining('call_waits')])
  expect(JSON.stringify(await store.read('waits'))).not.toContain('Never mind')
})

test('SV57 a session whose agent cannot be opened is an error of the chat', async () => {
  const { page } = await startChatServer({
    agentFor: async () => Promise.reject(new Error('no key for the model')),
  })
  const chat = page('closed')
  await chat.sendMessage({ text: 'Hello?' })
  expect([chat.status, chat.error?.message]).toEqual(['error', 'no key for the model'])
})

test('SV57 a run that is stopped ends the reply as interrupted, with what it had said', async () => {
  const never = gate()
  const { page, send } = await startChatServer({
    provider: () => {
      const whole = scripted({ text: 'Slow and steady.' }, { options: { chunk: 9 } })
      return {
        ...whole,
        async *stream(request, signal) {
          for await (const event of whole.stream(request, signal)) {
            if (event.type === 'text' && event.delta !== 'Slow and ')
              await Promise.race([never.opened, new Promise((_, fail) => signal.addEventListener('abort', fail))])
            yield event
          }
        },
      }
    },
  })
  const ends: unknown[] = []
  const chat = page('stopped', { onFinish: ({ finishReason }) => void ends.push(finishReason) })
  const sent = chat.sendMessage({ text: 'Go' })
  await until(() => chat.messages[1] && outline(chat.messages[1]).includes('text: Slow and '))
  expect((await send('POST', '/v1/sessions/stopped/stop')).status).toBe(202)
  await sent
  expect([chat.status, ends, outline(onlyReply(chat.messages))]).toEqual([
    'ready',
    ['interrupted'],
    ['step-start', 'text: Slow and '],
  ])
})

test('SV58 a server that closes says that this is not the end, and the next one goes on with the reply', async () => {
  const { provider, open } = gated('Never told.')
  const store = createMemoryStore()
  const first = await startChatServer({ provider: () => provider, store })
  const chat = first.page('moved')
  const sent = chat.sendMessage({ text: 'Wait for me' })
  await until(() => timesIn(store, 'moved', 'Wait for me'))
  await first.server.close()
  await sent
  expect([chat.status, chat.error?.message]).toEqual(['error', expect.stringContaining('shutting down')])
  open()
  const second = await startChatServer({ provider: () => scripted('Here I am.'), store })
  await second.server.start()
  const again = second.page('moved', { messages: toUIMessages(await store.read('moved')) })
  await again.resumeStream()
  await until(async () => (await store.find('moved'))?.status === 'idle')
  expect(toUIMessages(await store.read('moved'))).toMatchObject([
    { role: 'user' },
    { role: 'assistant', parts: [{}, { text: 'Here I am.' }] },
  ])
  expect(await timesIn(store, 'moved', 'Wait for me')).toBe(1)
})

test('SV64 a tenant cannot follow, resume or answer a chat of another, nor continue its completion', async () => {
  const tenants: Record<string, string> = { [token]: 'ann', [`${token}-bob`]: 'bob' }
  const models: Record<string, ReturnType<typeof scripted>> = {
    ann: scripted('For Ann.'),
    bob: scripted('For Bob.', 'For Bob again.'),
  }
  const { page, send, store } = await startChatServer({
    auth: {
      verify: (request) => {
        const tenant = tenants[request.headers.get('authorization')?.slice(7) ?? '']
        return tenant === undefined ? undefined : { user: tenant, tenant }
      },
    },
    trustsAllUsers: true,
    provider: undefined as never,
    agentFor: async ({ session, tenant }) => {
      const { createAgent } = await import('../../src/index.ts')
      const agent = createAgent({ provider: models[tenant!]!, session })
      return { agent, close: () => agent.destroy() }
    },
  })
  await page('diary').sendMessage({ text: 'Secret of Ann' })
  const asBob = { authorization: `Bearer ${token}-bob` }
  const mine = await send('POST', '/v1/chat', { id: 'diary', messages: [userMessage('Hello')] }, asBob)
  expect(mine.body).toContain('For Bob.')
  expect(mine.body).not.toContain('Ann')
  for (const id of ['ann.diary', 'diary'])
    expect((await send('GET', `/v1/chat/${id}/stream`, undefined, asBob)).body).not.toContain('Ann')
  const answers = { id: 'ann.diary', messages: [{ id: 'x', role: 'assistant', parts: [] }] }
  expect((await send('POST', '/v1/chat', answers, asBob)).status).toBe(404)
  const completion = { messages: [{ role: 'user', content: 'What did Ann say?' }] }
  const named = await send('POST', '/v1/openai/v1/chat/completions', completion, { ...asBob, 'x-session-id': 'diary' })
  expect(named.body.choices[0].message.content).toBe('For Bob again.')
  expect(await timesIn(store, 'ann.diary', 'What did')).toBe(0)
})

test('SV64 a caller without the scopes to read or to answer is refused, and so is a page of another site', async () => {
  const scopes: string[] = []
  const { send, server } = await startChatServer({
    auth: { verify: () => ({ user: 'eve', scopes: scopes as never }) },
    provider: () => scripted('No.'),
  })
  const body = { id: 'x', messages: [userMessage('Hi')] }
  const answers = { id: 'x', messages: [{ id: 'r', role: 'assistant', parts: [] }] }
  const tried = async (given: string[], sent: object) => {
    scopes.splice(0, scopes.length, ...given)
    return (await send('POST', '/v1/chat', sent)).status
  }
  expect(await tried(['read'], body)).toBe(403)
  expect(await tried(['send'], body)).toBe(403)
  expect(await tried(['send', 'read'], body)).toBe(200)
  expect(await tried(['send', 'read'], answers)).toBe(403)
  for (const headers of [{ host: 'evil.example' }, { origin: 'http://evil.example' }]) {
    const response = await server.fetch(new Request('http://127.0.0.1/v1/chat/x/stream', { headers: headers as never }))
    expect(response.status).toBe(403)
  }
})

test('SV64 bodies that are no chat are bad requests', async () => {
  const { send, errors } = await startChatServer({ provider: () => scripted() })
  const wrong = [
    {},
    { id: 'x', messages: [] },
    { id: 'x', messages: [{ ...userMessage('Hi'), role: 'system' }] },
    { id: 'x', messages: [{ ...userMessage('Hi'), parts: [] }] },
    { id: 'x', messages: [{ ...userMessage('Hi'), parts: [null] }] },
    { id: 'x', messages: [{ ...userMessage('Hi'), parts: [{ type: 'text', text: 7 }] }] },
    { id: 'x', messages: [{ ...userMessage('Hi'), parts: [{ type: 'file', url: 'http://example.com/x.png' }] }] },
    { id: 'x', messages: [{ ...userMessage('Hi'), id: '' }] },
    { id: 'x\u0000', messages: [userMessage('Hi')] },
  ]
  for (const body of wrong) expect([body, (await send('POST', '/v1/chat', body)).status]).toEqual([body, 400])
  const tooLarge = [
    { messages: 'no' },
    { messages: [{ role: 'robot', content: 'Hi' }] },
    { messages: [{ role: 'user', content: [{ type: 'x' }] }] },
  ]
  for (const body of tooLarge)
    expect([body, (await send('POST', '/v1/openai/v1/chat/completions', body)).status]).toEqual([body, 400])
  expect(errors).toEqual([])
})

test('SV64 whatever a chat or a completion consists of, there is no internal error', { timeout: 120_000 }, async () => {
  const { send, errors } = await startChatServer({
    provider: () => scripted([call('c1', 'write')], 'ok', 'ok'),
    tools: { write: tool('write', { gated: true } as never) },
    limits: { messagesPerMinute: 1_000_000 },
  })
  const text = fc.constantFrom(
    '',
    'a',
    'c1',
    'f0:c1',
    ':',
    'data:,x',
    'data:image/png;base64,eA==',
    'http://x/y',
    '\ud800',
  )
  const any = fc.oneof({ weight: 4, arbitrary: text }, fc.jsonValue({ maxDepth: 1 }))
  const part = fc.record(
    {
      type: fc.constantFrom('text', 'file', 'reasoning', 'dynamic-tool', 'tool-x', 'step-start', 'steering-message'),
      ...{ text: any, url: any, mediaType: any, toolName: any, toolCallId: any, input: any, output: any, parts: any },
      state: fc.constantFrom('approval-responded', 'output-available', 'input-streaming', 'done'),
      approval: fc.oneof(fc.record({ id: any, approved: fc.oneof(fc.boolean(), any), reason: any }), any),
    },
    { requiredKeys: ['type'] },
  )
  const message = fc.record({
    id: text,
    role: fc.constantFrom('user', 'assistant'),
    parts: fc.array(part, { maxLength: 3 }),
  })
  const trigger = fc.constantFrom('submit-message', 'regenerate-message')
  const id = fc.constantFrom('a', 'b')
  const chat = fc.record({ id, messages: fc.array(message, { minLength: 1, maxLength: 2 }), trigger, messageId: text })
  const turn = fc.record(
    { role: fc.constantFrom('user', 'assistant', 'system', 'tool'), content: any, tool_calls: any },
    { requiredKeys: ['role'] },
  )
  const completion = fc.record(
    { messages: fc.array(turn, { maxLength: 3 }), stream: fc.boolean(), metadata: fc.record({ session: id }) },
    { requiredKeys: ['messages'] },
  )
  const seen = new Set<number>()
  const post = async (path: string, body: object) => {
    const { status } = await send('POST', path, body)
    seen.add(status)
    expect([status, body]).not.toEqual([500, body])
  }
  await fc.assert(
    fc.asyncProperty(chat, (body) => post('/v1/chat', body)),
    { numRuns: rounds(80, 2000) },
  )
  await fc.assert(
    fc.asyncProperty(completion, (body) => post('/v1/openai/v1/chat/completions', body)),
    { numRuns: rounds(80, 2000) },
  )
  expect([...seen]).toEqual(expect.arrayContaining([200, 400]))
  expect(errors).toEqual([])
})

const textOf = (content: readonly SessionContentBlock[]) =>
  content.map((block) => 'text' in block && block.text).join('')
const userMessage = (text: string) => ({ id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] })
