import { describe, expect, test } from 'vitest'
import type { Message, ModelEvent, ModelReply, Provider } from '../../src/types.ts'
import { type Counterpart, counterparts } from '../faults/poisons/counterparts.ts'
import { type StrictServer, startStrict } from './strict-server.ts'

const hi: Message = { role: 'user', content: [{ type: 'text', text: 'Hi' }] }
const isReply = (event: ModelEvent): event is ModelReply => event.type === 'reply'

describe.each(counterparts)('the strict server for $name', (to) => {
  test('streams what its script says, and remembers what it was asked', async () => {
    await withServer(to, async (server, provider) => {
      server.script.push({ thinking: 'Hm.', text: 'I look.', calls: [{ id: 'c1', name: 'look', input: { at: 'it' } }] })
      const { content } = await replyOf(provider, [hi])
      expect(content.filter(({ type }) => type === 'text')).toMatchObject([{ text: 'I look.' }])
      expect(content.filter(({ type }) => type === 'thinking')).toMatchObject([{ text: 'Hm.' }])
      expect(content.filter(({ type }) => type === 'tool_call')).toMatchObject([{ name: 'look' }])
      expect((await replyOf(provider, [hi])).content).toMatchObject([{ type: 'text', text: 'ok' }])
      expect(server.requests).toHaveLength(2)
      expect(server.requests[0]?.text).toContain('Hi')
    })
  })

  test('takes its own thinking back', async () => {
    await withServer(to, async (server, provider) => {
      server.script.push({ thinking: 'Hm.', text: 'Yes.' })
      const { content } = await replyOf(provider, [hi])
      const said = { role: 'assistant', content, ...to.by } as Message
      expect((await replyOf(provider, [hi, said, hi])).content).toMatchObject([{ text: 'ok' }])
      expect(server.requests.map(({ refusal }) => refusal)).toEqual([undefined, undefined])
    })
  })

  test.each([
    ['index', /[.[]2\]?.*could not be processed/],
    ['message', /[.[]2\]?.*could not be processed/],
    ['nothing', /^The request could not be processed\.$/],
  ] as const)('refuses a word that it does not like, and says where: %s', async (says, message) => {
    await withServer(to, async (server, provider) => {
      server.offences.push({ marker: 'XYZZY', says })
      const bad: Message = { role: 'user', content: [...hi.content, { type: 'text', text: 'XYZZY' }] }
      const answer: Message = { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }] }
      await expect(replyOf(provider, [hi, answer, bad])).rejects.toThrow('could not be processed')
      expect(server.requests[0]?.refusal).toMatch(message)
      expect((await replyOf(provider, [hi, answer, hi])).content).toMatchObject([{ text: 'ok' }])
    })
  })

  test('refuses everything when it is in that mood', async () => {
    await withServer(to, async (server, provider) => {
      server.mood = 'not today'
      await expect(replyOf(provider, [hi])).rejects.toThrow('HTTP 400: not today')
    })
  })
})

async function withServer(to: Counterpart, work: (server: StrictServer, provider: Provider) => Promise<void>) {
  const server = await startStrict(to.dialect())
  try {
    await work(server, to.provider({ baseURL: server.url }))
  } finally {
    await server.close()
  }
}

async function replyOf(provider: Provider, messages: readonly Message[]): Promise<ModelReply> {
  const tools = [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object', properties: {} } }]
  const about = {
    model: provider.meta.defaultModel,
    system: '',
    tools,
    maxTokens: 5000,
    thinking: 'off',
    cache: false,
  } as const
  const events: ModelEvent[] = []
  for await (const event of provider.stream({ ...about, messages }, new AbortController().signal)) events.push(event)
  return events.find(isReply)!
}
