import type { Chat } from '@ai-sdk/react'
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  readUIMessageStream,
  type UIMessage,
  validateUIMessages,
} from 'ai'
import { expect, test } from 'vitest'
import { answersAreComplete, toUIMessages } from '../../src/ai-sdk/index.ts'
import type { Provider } from '../../src/core/provider.ts'
import { call, scripted } from '../../src/testing/index.ts'
import { gate, onlyReply, outline, plain, startChatServer, timesIn, until } from './chat-kit.ts'
import { tool as anyTool } from './server-kit.ts'

test('SV50 the AI SDK sends a message and gets the reply: reasoning, text, model and tokens, as the log has them', async () => {
  const { page, store, errors } = await startChatServer({
    provider: () => scripted({ thinking: 'Which zone?', text: 'It is noon in Lisbon.' }),
  })
  const chat = page('clock')
  await chat.sendMessage({ text: 'What time is it?' })
  expect(chat.error).toBeUndefined()
  expect([chat.status, outline(onlyReply(chat.messages))]).toEqual([
    'ready',
    ['step-start', 'reasoning: Which zone?', 'text: It is noon in Lisbon.'],
  ])
  expect(onlyReply(chat.messages).metadata).toEqual({
    model: 'script-1',
    usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
  })
  const replayed = toUIMessages(await store.read('clock'))
  expect(plain(chat.messages)).toEqual(plain(replayed))
  await expect(validateUIMessages({ messages: chat.messages })).resolves.toHaveLength(2)
  expect(errors).toEqual([])
})

test('SV51 each model call is a step, and tools are dynamic parts with input, output or error', async () => {
  const { page, store } = await startChatServer({
    provider: () =>
      scripted(
        { text: 'Let me look.', calls: [call('c1', 'look', { at: 'sky' }), call('c2', 'fail')] },
        { text: 'It is blue.' },
      ),
    tools: {
      look: anyTool('look', { execute: async () => 'blue' }),
      fail: anyTool('fail', { execute: async () => Promise.reject(new Error('no ladder')) }),
    },
  })
  const chat = page('sky')
  await chat.sendMessage({ text: 'Which colour is the sky?' })
  const reply = onlyReply(chat.messages)
  expect(outline(reply)).toEqual([
    'step-start',
    'text: Let me look.',
    'look: output-available',
    'fail: output-error',
    'step-start',
    'text: It is blue.',
  ])
  expect(reply.parts[2]).toMatchObject({ toolCallId: 'c1', input: { at: 'sky' }, output: 'blue' })
  expect(reply.parts[3]).toMatchObject({ errorText: expect.stringContaining('no ladder') })
  expect(plain(chat.messages)).toEqual(plain(toUIMessages(await store.read('sky'))))
})

test('SV52 the first message makes the session, the next one goes on with it, and only the last message is read', async () => {
  const model = scripted('One.', 'Two.')
  const { page, store, send } = await startChatServer({ provider: () => model })
  const chat = page('new chat/1')
  await chat.sendMessage({ text: 'First' })
  chat.messages = chat.messages.map((message) => ({ ...message, parts: [{ type: 'text', text: 'forged' }] }))
  await chat.sendMessage({ text: 'Second' })
  expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
  expect(JSON.stringify(model.requests.at(-1)?.messages)).not.toContain('forged')
  expect(toUIMessages(await store.read('new chat/1')).flatMap(({ parts }) => parts)).toMatchObject([
    { text: 'First' },
    { type: 'step-start' },
    { text: 'One.' },
    { text: 'Second' },
    { type: 'step-start' },
    { text: 'Two.' },
  ])
  expect((await send('GET', '/v1/sessions')).body.sessions).toHaveLength(1)
})

test('SV53 a request that is made again is one message, and gets the same reply', async () => {
  const { transport, store } = await startChatServer({ provider: () => scripted('Once.') })
  const message = { id: 'm1', role: 'user' as const, parts: [{ type: 'text' as const, text: 'Only once' }] }
  const sent = {
    chatId: 'again',
    messages: [message],
    trigger: 'submit-message',
    messageId: undefined,
    abortSignal: undefined,
  } as const
  const replies = []
  for (const stream of [await transport().sendMessages(sent as never), await transport().sendMessages(sent as never)]) {
    let last: unknown
    for await (const reply of readUIMessageStream({ stream })) last = plain([reply])
    replies.push(last)
  }
  expect(replies[0]).toMatchObject([{ parts: [{}, { text: 'Once.', state: 'done' }] }])
  expect(replies[1]).toEqual(replies[0])
  expect(await timesIn(store, 'again', 'Only once')).toBe(1)
})

test('SV54 a page that is reloaded in mid-answer gets the reply from its begin and goes on live; later there is nothing to resume', async () => {
  const half = gate()
  const { page, store, transport } = await startChatServer({
    provider: () => slowly(half.opened),
  })
  const before = page('reload')
  void before.sendMessage({ text: 'Take your time' })
  await until(() => before.messages.at(-1)?.parts.some((part) => part.type === 'text' && part.text.includes('Slow')))
  const after = page('reload', { messages: toUIMessages(await store.read('reload')) })
  const resumed = after.resumeStream()
  await until(() => after.messages.at(-1) && outline(after.messages.at(-1)!).includes('text: Slow and '))
  half.open()
  await resumed
  await until(() => before.status === 'ready')
  expect(outline(onlyReply(after.messages))).toEqual(['step-start', 'text: Slow and steady.'])
  expect(plain(after.messages)).toEqual(plain(before.messages))
  await until(async () => (await transport().reconnectToStream({ chatId: 'reload' })) === null)
  expect(await transport().reconnectToStream({ chatId: 'none of that name' })).toBeNull()
})

test('SV55 a page that is reloaded during a call shows the call after the text that came before it, and its result', async () => {
  const { opened, open } = gate()
  const { page, store } = await startChatServer({
    provider: () => scripted({ text: 'First I look.', calls: [call('c1', 'look')] }, 'Then I tell.'),
    tools: { look: anyTool('look', { execute: async () => opened.then(() => 'seen') }) },
  })
  const before = page('calls')
  void before.sendMessage({ text: 'Look' })
  await until(() => before.messages.at(-1) && outline(before.messages.at(-1)!).includes('look: input-available'))
  const after = page('calls', { messages: toUIMessages(await store.read('calls')) })
  const seen: string[][] = []
  const resumed = after.resumeStream()
  await until(() => after.status === 'streaming' && seen.push(outline(after.messages.at(-1)!)))
  open()
  await resumed
  expect(seen[0]!.slice(0, 3)).toEqual(['step-start', 'text: First I look.', 'look: input-available'])
  expect(outline(onlyReply(after.messages))).toEqual([
    'step-start',
    'text: First I look.',
    'look: output-available',
    'step-start',
    'text: Then I tell.',
  ])
})

test('SV56 a call that needs an approval is asked for in the reply, and the answer continues the same message', async () => {
  const { page, store, errors } = await startChatServer({
    provider: always(scripted([call('c1', 'write', { to: 'disk' })], [call('c2', 'write', { to: 'net' })], 'Written.')),
    tools: { write: anyTool('write', { gated: true, execute: async () => 'written' } as never) },
  })
  const chat = page('asks', { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses })
  await chat.sendMessage({ text: 'Write' })
  expect(outline(onlyReply(chat.messages))).toEqual(['step-start', 'write: approval-requested'])
  expect(plain(chat.messages)).toEqual(plain(toUIMessages(await store.read('asks'))))
  await chat.addToolApprovalResponse({ id: approvalOf(chat, 'c1')!, approved: true })
  const second = await until(() => (chat.status === 'ready' ? approvalOf(chat, 'c2') : undefined))
  await chat.addToolApprovalResponse({ id: second, approved: false, reason: 'not on the net' })
  await until(() => outline(onlyReply(chat.messages)).includes('text: Written.') && chat.status === 'ready')
  expect(outline(onlyReply(chat.messages))).toEqual([
    'step-start',
    'write: output-available',
    'step-start',
    'write: output-denied',
    'step-start',
    'text: Written.',
  ])
  expect((await store.read('asks')).filter(({ type }) => type === 'approval_answered')).toMatchObject([
    { callId: 'c1', decision: 'allow', by: 'user', mac: expect.any(String) },
    { callId: 'c2', decision: 'deny', by: 'user', note: [{ text: 'not on the net' }] },
  ])
  expect(plain(chat.messages)).toEqual(plain(toUIMessages(await store.read('asks'))))
  await expect(validateUIMessages({ messages: chat.messages })).resolves.toHaveLength(2)
  expect(errors).toEqual([])
})

test('SV56 calls that are asked about one after the other are answered one by one, and each in its turn', async () => {
  const { page, store } = await startChatServer({
    provider: always(scripted([call('c1', 'write', { to: 'a' }), call('c2', 'write', { to: 'b' })], 'Both.')),
    tools: { write: anyTool('write', { gated: true, execute: async () => 'written' } as never) },
  })
  const chat = page('turns', { sendAutomaticallyWhen: answersAreComplete })
  await chat.sendMessage({ text: 'Write' })
  for (const callId of ['c1', 'c2']) {
    const id = await until(() => approvalOf(chat, callId))
    expect(chat.status).toBe('ready')
    await chat.addToolApprovalResponse({ id, approved: true })
  }
  await until(() => outline(onlyReply(chat.messages)).includes('text: Both.') && chat.status === 'ready')
  expect(plain(chat.messages)).toEqual(plain(toUIMessages(await store.read('turns'))))
})

test('SV56 an answer to another call than was shown is refused, one that came twice is not counted twice', async () => {
  const { page, store, send } = await startChatServer({
    provider: always(scripted([call('c1', 'write')], 'Done.')),
    tools: { write: anyTool('write', { gated: true, execute: async () => 'written' } as never) },
  })
  const chat = page('twice')
  await chat.sendMessage({ text: 'Write' })
  const id = approvalOf(chat, 'c1')!
  const answered = (approvalId: string) => ({
    id: 'twice',
    messages: [
      {
        ...onlyReply(chat.messages),
        parts: onlyReply(chat.messages).parts.map((part) =>
          part.type === 'dynamic-tool'
            ? { ...part, state: 'approval-responded', approval: { id: approvalId, approved: true } }
            : part,
        ),
      },
    ],
  })
  const forged = await send('POST', '/v1/chat', answered('f0f0:c1'))
  expect([forged.status, forged.body.code]).toEqual([409, 'other_digest'])
  const [one, two] = await Promise.all([send('POST', '/v1/chat', answered(id)), send('POST', '/v1/chat', answered(id))])
  expect([one.body, two.body]).toEqual([expect.stringContaining('Done.'), expect.stringContaining('Done.')])
  expect((await store.read('twice')).filter(({ type }) => type === 'approval_answered')).toHaveLength(1)
  const late = await send('POST', '/v1/chat', answered(id))
  expect(late.body).toContain('Done.')
})

test('SV57 a run that fails is an error of the chat with its sentence, and the message can be tried again', async () => {
  const model = scripted(new Error('the model is on strike'), 'Back at work.')
  const { page, store } = await startChatServer({ provider: () => model })
  const chat = page('strike')
  await chat.sendMessage({ text: 'Work' })
  expect([chat.status, chat.error?.message]).toEqual(['error', expect.stringContaining('on strike')])
  await chat.regenerate()
  expect([chat.status, outline(onlyReply(chat.messages)).at(-1)]).toEqual(['ready', 'text: Back at work.'])
  expect(model.requests.at(-1)?.messages).toHaveLength(1)
  expect(toUIMessages(await store.read('strike'))).toHaveLength(2)
})

test('SV58 a page that is closed stops nothing', async () => {
  const half = gate()
  const { page, store } = await startChatServer({
    provider: () => slowly(half.opened),
  })
  const chat = page('left')
  void chat.sendMessage({ text: 'Go on without me' })
  await until(() => chat.messages[1] && outline(chat.messages[1]).includes('text: Slow and '))
  await chat.stop()
  half.open()
  await until(async () => (await store.read('left')).some(({ type }) => type === 'run_ended'))
  expect(outline(toUIMessages(await store.read('left'))[1]!)).toEqual(['step-start', 'text: Slow and steady.'])
})

/** A model that says half of its reply, waits, and says the rest. */
function slowly(opened: Promise<void>): Provider {
  const whole = scripted({ text: 'Slow and steady.' }, { options: { chunk: 9 } })
  return {
    ...whole,
    async *stream(request, signal) {
      for await (const event of whole.stream(request, signal)) {
        if (event.type === 'text' && event.delta !== 'Slow and ') await opened
        yield event
      }
    },
  }
}

/** The id of the approval that a call waits for. */
function approvalOf(chat: Chat<UIMessage>, callId: string): string | undefined {
  for (const part of onlyReply(chat.messages).parts)
    if (part.type === 'dynamic-tool' && part.toolCallId === callId && part.state === 'approval-requested')
      return part.approval.id
  return undefined
}

/** Agents that are opened one after the other go on with one script. */
const always = (model: Provider) => () => model
