import { readUIMessageStream, type UIMessage as SdkMessage, type UIMessageChunk, validateUIMessages } from 'ai'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createAgent, createSession } from '../index.ts'
import { call, scripted, tool } from '../testing/index.ts'
import { fromUIMessages, toUIMessages } from './index.ts'
import { PartChunks } from './part-chunks.ts'
import type { UIPart } from './ui-message.ts'

const image = { type: 'image' as const, mediaType: 'image/png', data: 'iVBORw0KGgo=' }

async function session() {
  const made = await createSession()
  const provider = scripted(
    {
      thinking: 'I need a look.',
      text: 'Let me look.',
      calls: [call('c1', 'look', { at: 'sky' }), call('c2', 'fall')],
    },
    'Blue.',
    'Bye.',
  )
  const tools = {
    look: tool('look', async () => [{ type: 'text', text: 'blue' }, image] as never),
    fall: tool('fall', async () => Promise.reject(new Error('ouch'))),
  }
  const agent = createAgent({ provider, session: made, tools })
  await agent.run({ prompt: [{ type: 'text', text: 'Which colour is this?' }, image], clientKey: 'mine' })
  await agent.run({ prompt: 'Thanks' })
  return made
}

test('SV59 a session becomes messages that the AI SDK accepts as its own, with the ids that clients gave', async () => {
  const made = await session()
  // Compiles only if ours are messages of theirs.
  const messages: SdkMessage[] = toUIMessages(await entriesOf(made))
  await expect(validateUIMessages({ messages })).resolves.toHaveLength(4)
  expect(messages.map(({ role, id }) => [role, id === 'mine'])).toEqual([
    ['user', true],
    ['assistant', false],
    ['user', false],
    ['assistant', false],
  ])
  expect(messages[0]?.parts).toEqual([
    { type: 'text', text: 'Which colour is this?' },
    { type: 'file', mediaType: 'image/png', url: `data:image/png;base64,${image.data}` },
  ])
  expect(messages[1]?.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'reasoning', text: 'I need a look.' },
    { type: 'text', text: 'Let me look.' },
    { type: 'dynamic-tool', toolCallId: 'c1', state: 'output-available', input: { at: 'sky' } },
    { type: 'dynamic-tool', toolCallId: 'c2', state: 'output-error', errorText: expect.stringContaining('ouch') },
    { type: 'step-start' },
    { type: 'text', text: 'Blue.' },
  ])
})

test('SV59 turns become messages and messages the same turns', async () => {
  const { turns } = await session()
  const there = fromUIMessages(toUIMessages(turns))
  expect(there).toEqual(turns.map(({ role, content }) => ({ role, content })))
  const copy = await createSession()
  await copy.addTurns(there)
  expect(fromUIMessages(toUIMessages(copy.turns))).toEqual(there)
  expect(fromUIMessages(toUIMessages(await entriesOf(copy)))).toEqual(there)
})

test('SV59 messages that other programs made become turns: static tools, denials, texts as files', () => {
  const messages: SdkMessage[] = [
    { id: '0', role: 'system', parts: [{ type: 'text', text: 'Be brief' }] },
    {
      id: '1',
      role: 'user',
      parts: [{ type: 'file', mediaType: 'text/plain', filename: 'a.txt', url: 'data:,h%C3%A9' }],
    },
    {
      id: '2',
      role: 'assistant',
      parts: [
        { type: 'tool-look', toolCallId: 'c1', state: 'output-available', input: { at: 1 }, output: { seen: true } },
        {
          type: 'dynamic-tool',
          toolName: 'fall',
          toolCallId: 'c2',
          state: 'output-denied',
          input: {},
          approval: { id: 'a', approved: false, reason: 'too deep' },
        },
        { type: 'dynamic-tool', toolName: 'half', toolCallId: 'c3', state: 'input-streaming', input: {} },
      ],
    },
  ]
  expect(fromUIMessages(messages)).toEqual([
    { role: 'user', content: [{ type: 'document', mediaType: 'text/plain', data: 'aMOp', name: 'a.txt' }] },
    {
      role: 'assistant',
      content: [
        { type: 'tool_call', id: 'c1', name: 'look', input: { at: 1 } },
        { type: 'tool_call', id: 'c2', name: 'fall', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', callId: 'c1', output: '{"seen":true}' },
        { type: 'tool_result', callId: 'c2', output: 'The user denied this call: too deep', isError: true },
      ],
    },
  ])
  const remote = { role: 'user', parts: [{ type: 'file', mediaType: 'image/png', url: 'http://example.com/x.png' }] }
  expect(() => fromUIMessages([remote])).toThrow('must be a data URL')
})

test('SV59 whatever a reply goes through, a client of the AI SDK ends with its parts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(reply(), { minLength: 1, maxLength: 6 }), async (states) => {
      // Earlier steps are committed; the last one may stream, fail and begin again.
      const chunks = new PartChunks()
      const sent: object[] = [{ type: 'start', messageId: 'r' }]
      const before: UIPart[] = []
      let now: UIPart[] = []
      for (const { step, commits } of states) {
        now = [...before, ...step]
        sent.push(...chunks.update(now))
        if (!commits) continue
        now = [...before, ...step.map(ended)]
        sent.push(...chunks.update(now))
        before.push(...now.slice(before.length))
      }
      sent.push(...chunks.end())
      const stream = ReadableStream.from(sent as UIMessageChunk[])
      let last: SdkMessage | undefined
      for await (const message of readUIMessageStream({ stream, terminateOnError: true })) last = message
      expect(shapes(last?.parts ?? [])).toEqual(shapes(now))
    }),
    { numRuns: 300 },
  )
})

/** A step as it may be seen: its texts are whole, or any part of them, and its calls have any part of their arguments. */
function reply() {
  const text = fc.constantFrom('', 'a', 'ab', 'abc', 'b')
  const tool = fc.record({ id: fc.constantFrom('1', '2'), args: fc.constantFrom('', '{', '{}') })
  return fc.record({
    commits: fc.boolean(),
    step: fc.record({ thinking: text, text, tools: fc.uniqueArray(tool, { selector: ({ id }) => id }) }).map(partsOf),
  })
}

function partsOf({ thinking, text, tools }: { thinking: string; text: string; tools: readonly AnyTool[] }): UIPart[] {
  return [
    { type: 'step-start' },
    ...(thinking === '' ? [] : [{ type: 'reasoning' as const, id: 't', text: thinking, state: 'streaming' as const }]),
    ...(text === '' ? [] : [{ type: 'text' as const, text, state: 'streaming' as const }]),
    ...tools.map(
      ({ id, args }): UIPart => ({
        ...{ type: 'dynamic-tool', toolName: 'look', toolCallId: id },
        ...{ state: 'input-streaming', rawInput: args },
      }),
    ),
  ]
}

interface AnyTool {
  readonly id: string
  readonly args: string
}

function ended(part: UIPart): UIPart {
  if (part.type === 'text' || part.type === 'reasoning') return { ...part, state: 'done' }
  if (part.type !== 'dynamic-tool') return part
  const { type, toolName, toolCallId } = part
  if (toolCallId === '1') return { type, toolName, toolCallId, state: 'input-available', input: {} }
  return { type, toolName, toolCallId, state: 'output-available', input: {}, output: 'seen' }
}

/** Types and contents; a client may hold a last step that has become empty. */
function shapes(parts: readonly { readonly type: string }[]): string[] {
  const all = (parts as readonly UIPart[]).map((part) => {
    if (part.type === 'text' || part.type === 'reasoning') return `${part.type} ${part.text}`
    return part.type === 'dynamic-tool' ? `${part.toolCallId} ${part.state}` : part.type
  })
  while (all.at(-1) === 'step-start') all.pop()
  return all
}

async function entriesOf(made: Awaited<ReturnType<typeof session>>) {
  const entries = []
  for await (const entry of made.entries()) entries.push(entry)
  return entries
}
