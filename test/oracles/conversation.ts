import type { ModelReply, ModelRequest } from '../../src/core/provider.ts'
import type { Spoken } from './streams.ts'

export const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
export const pdf = 'JVBERi0xLjQ='
export const schema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } as const
export const system = 'Be brief.'

/** A conversation with every kind of block. */
export const request = {
  system,
  tools: [{ name: 'read', description: 'Reads a file.', inputSchema: schema }],
  maxTokens: 1000,
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Compare these.' },
        { type: 'image', mediaType: 'image/png', data: png },
        { type: 'document', mediaType: 'application/pdf', data: pdf, name: 'bill.pdf' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'I read both.' },
        { type: 'tool_call', id: 'call_1', name: 'read', input: { path: 'a' } },
        { type: 'tool_call', id: 'call_2', name: 'read', input: { path: 'b' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', callId: 'call_1', output: 'A' },
        { type: 'tool_result', callId: 'call_2', output: 'no such file', isError: true },
        { type: 'text', text: 'Go on.' },
      ],
    },
  ],
} satisfies Partial<ModelRequest>

/** A reply with every kind of block. */
export const said: Spoken = {
  thinking: 'First one, then the other.',
  text: 'Here they come: äöü 🙂.',
  calls: [
    { id: 'call_3', name: 'read', input: { path: 'c', nested: { list: [1, 2.5, null] } } },
    { id: 'call_4', name: 'read', input: {} },
  ],
  usage: { input: 100, output: 20, cacheRead: 40 },
}

/** A call with parsed arguments. */
export const called = (id: string, name: string, input: unknown) => ({ type: 'tool_call', id, name, input })

/** The blocks of a reply, without the data of a wire. */
export const contentOf = ({ content }: ModelReply): object[] =>
  content.map((block) => {
    const { providerData: _, ...plain } = block as { providerData?: unknown; input?: unknown }
    return typeof plain.input === 'string' ? { ...plain, input: JSON.parse(plain.input) } : plain
  })
