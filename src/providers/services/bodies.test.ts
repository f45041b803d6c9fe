import { describe, expect, test } from 'vitest'
import { type Asked, fakeService } from '../../../test/oracles/loopback.ts'
import { ask, type ServiceName, serviceCases, services } from '../../../test/oracles/services.ts'
import { speak, type WireName } from '../../../test/oracles/streams.ts'
import type { PromptPart, ToolOutput } from '../../core/turn.ts'
import { createAgent } from '../../create-agent.ts'
import { tool } from '../../testing/index.ts'
import type { ServiceOptions } from '../service.ts'

const lists = {
  'anthropic-messages': 'messages',
  'openai-chat': 'messages',
  'openai-responses': 'input',
  gemini: 'contents',
} as const satisfies Record<WireName, string>

describe.each(serviceCases)('a body for %s', (name, { make, wire }) => {
  const sent = (options: ServiceOptions) => sentTo(name, options)
  const list = lists[wire]

  test('A230 has what the caller adds to it', async () => {
    const { body } = await sent({ extraBodyParams: { seed: 7, nested: { deep: [1] } } })
    expect(body).toMatchObject({ seed: 7, nested: { deep: [1] } })
  })

  test('A230 has its own say about what has an option: the model, its limits, the stream', async () => {
    const plain = await sent({})
    const wrong = Object.fromEntries(Object.keys(plain.body).map((field) => [field, 'wrong']))
    const { body } = await sent({ extraBodyParams: wrong })
    expect(body).toEqual(plain.body)
  })

  test('A230 cannot be given another conversation', async () => {
    const extraBodyParams = { [list]: [{ role: 'user', content: 'something else' }], stream: false }
    const { body, text } = await sent({ extraBodyParams })
    expect(JSON.stringify(body)).not.toContain('something else')
    expect(body).toEqual({ ...(await sent({})).body, ...(wire === 'gemini' && { stream: false }) })
    // A list that stands there twice is read by some as the first and by some as the last.
    expect(text.split(`"${list}":`)).toHaveLength(2)
  })

  test('comes with the headers of the caller, under the address of the caller', async () => {
    const { headers, url } = await sent({ headers: { 'X-Team': 'red' }, baseURL: 'https://proxy.example/deep/' })
    expect(headers['x-team']).toBe('red')
    expect(url).toMatch(/^https:\/\/proxy\.example\/deep\/[a-z]/)
    expect(url).not.toMatch(/[^:]\/\//)
  })

  test('keeps the query of an address', async () => {
    const { url } = await sent({ baseURL: 'https://proxy.example/deep?api-version=1' })
    expect(new URL(url).searchParams.get('api-version')).toBe('1')
    expect(new URL(url).pathname).toMatch(/^\/deep\/[a-z]/)
  })

  test('has no headers for browsers', async () => {
    const { headers } = await sent({})
    expect(Object.keys(headers).filter((header) => /browser|stainless/.test(header))).toEqual([])
  })

  test('asks for the model of the options, or of the request', async () => {
    const { fetch, asked } = fakeService(speak(wire, { text: 'hello' }))
    const provider = make({ fetch, apiKey: 'key', defaultModel: 'mine', prices: false })
    await createAgent({ provider }).run({ prompt: 'hi' })
    await createAgent({ provider }).run({ prompt: 'hi', model: 'yours' })
    expect(asked.map(modelOf)).toEqual(['mine', 'yours'])
  })

  test('is sent through the transport of the caller, if there is one', async () => {
    const urls: string[] = []
    const transport: NonNullable<ServiceOptions['transport']> = async ({ url }) => {
      urls.push(url)
      return { status: 200, headers: {}, body: bytesOf(speak(wire, { text: 'hello' })) }
    }
    const { reply } = await ask(make({ transport, apiKey: 'key', prices: false }))
    expect(reply.content).toMatchObject([{ type: 'text', text: 'hello' }])
    expect(urls).toHaveLength(1)
  })
})

describe('prompts of several parts', () => {
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const prompt: PromptPart[] = [
    { type: 'text', text: 'Compare.' },
    { type: 'image', mediaType: 'image/png', data: png },
    { type: 'document', mediaType: 'application/pdf', data: 'JVBERg==', name: 'bill.pdf' },
  ]
  const imageUrl = `data:image/png;base64,${png}`
  const pdfUrl = 'data:application/pdf;base64,JVBERg=='

  test.each<[ServiceName, unknown]>([
    [
      'anthropic',
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Compare.' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' },
            title: 'bill.pdf',
          },
        ],
      },
    ],
    [
      'openai',
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'Compare.' },
          { type: 'input_image', image_url: imageUrl },
          { type: 'input_file', filename: 'bill.pdf', file_data: pdfUrl },
        ],
      },
    ],
    [
      'openrouter',
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Compare.' },
          { type: 'image_url', image_url: { url: imageUrl } },
          { type: 'file', file: { filename: 'bill.pdf', file_data: pdfUrl } },
        ],
      },
    ],
    [
      'google',
      {
        role: 'user',
        parts: [
          { text: 'Compare.' },
          { inlineData: { mimeType: 'image/png', data: png } },
          { text: 'bill.pdf:' },
          { inlineData: { mimeType: 'application/pdf', data: 'JVBERg==' } },
        ],
      },
    ],
    [
      'acme',
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Compare.' },
          { type: 'image_url', image_url: { url: imageUrl } },
          { type: 'text', text: '[document left out: this service does not take application/pdf]' },
        ],
      },
    ],
  ])('A234 reach %s in its own words', async (name, expected) => {
    const { asked } = await talk(name, { prompt, behavior: { cache: false } })
    expect(asked[0]!.body[lists[services[name].wire]]).toEqual([expected])
  })

  test('A234 reach a model that cannot see as text', async () => {
    const { asked } = await talk('cerebras', { prompt })
    const [message] = asked[0]!.body.messages
    expect(JSON.stringify(message)).not.toContain(png)
    expect(JSON.stringify(message)).toMatch(/Compare\..*image/)
  })
})

describe('an image in a result', () => {
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const output: ToolOutput = [
    { type: 'text', text: 'A picture:' },
    { type: 'image', mediaType: 'image/png', data: png },
  ]
  const url = `data:image/png;base64,${png}`

  /** What a service is sent after a tool has given a picture. */
  async function afterPicture(name: ServiceName): Promise<unknown[]> {
    const { wire } = services[name]
    const calls = [{ id: 'call_1', name: 'look', input: {} }]
    const { asked } = await talk(name, { prompt: 'Look.', behavior: { cache: false } }, [
      speak(wire, { calls }),
      speak(wire, { text: 'A dot.' }),
    ])
    return asked[1]!.body[lists[wire]].slice(2)
  }

  const look = tool('look', () => output)
  const talk = talking({ look })

  test.each<ServiceName>(['openrouter', 'acme'])(
    'A094 follows in a message of its own where %s takes none in results',
    async (name) => {
      expect(services[name].make({}).meta.capabilities).toMatchObject({ imageInToolResult: false })
      expect(await afterPicture(name)).toEqual([
        { role: 'tool', tool_call_id: 'call_1', content: expect.stringMatching(/^A picture:\n\[image: .*after/) },
        {
          role: 'user',
          content: [
            { type: 'text', text: expect.stringContaining('call_1') },
            { type: 'image_url', image_url: { url } },
          ],
        },
      ])
    },
  )

  test('A094 follows in a content of its own for Gemini', async () => {
    expect(services.google.make({}).meta.capabilities).toMatchObject({ imageInToolResult: false })
    expect(await afterPicture('google')).toEqual([
      {
        role: 'user',
        parts: [
          { functionResponse: expect.objectContaining({ name: 'look', response: { output: expect.any(String) } }) },
        ],
      },
      { role: 'user', parts: [{ text: expect.any(String) }, { inlineData: { mimeType: 'image/png', data: png } }] },
    ])
  })

  test('A094 stays in the result where the service takes it there', async () => {
    expect(await afterPicture('anthropic')).toEqual([
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'call_1',
            content: [
              { type: 'text', text: 'A picture:' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
            ],
          },
        ],
      },
    ])
    expect(await afterPicture('openai')).toEqual([
      {
        type: 'function_call_output',
        call_id: 'call_1',
        output: [
          { type: 'input_text', text: 'A picture:' },
          { type: 'input_image', image_url: url },
        ],
      },
    ])
  })
})

describe('a document in a result', () => {
  const data = 'JVBERg=='
  const pdf = { type: 'document', mediaType: 'application/pdf', data, name: 'bill.pdf' } as const
  const url = `data:application/pdf;base64,${data}`
  const talk = talking({ open: tool('open', () => [{ type: 'text', text: 'A bill:' }, pdf]) })

  test.each<[ServiceName, unknown[]]>([
    [
      'anthropic',
      [
        { type: 'text', text: 'A bill:' },
        {
          type: 'document',
          source: { type: 'base64', media_type: 'application/pdf', data },
          title: 'bill.pdf',
        },
      ],
    ],
    [
      'openai',
      [
        { type: 'input_text', text: 'A bill:' },
        { type: 'input_file', filename: 'bill.pdf', file_data: url },
      ],
    ],
    [
      'openrouter',
      [
        'A bill:\n[document: see the user message after the results]',
        { type: 'text', text: 'From the result of call call_1:' },
        { type: 'file', file: { filename: 'bill.pdf', file_data: url } },
      ],
    ],
    [
      'google',
      [
        'A bill:\n[a document, shown below]',
        { text: 'Document in result 1 (open):' },
        { inlineData: { mimeType: 'application/pdf', data } },
      ],
    ],
    ['acme', ['A bill:\n[document left out: this service does not take application/pdf]']],
    ['cerebras', ['A bill:\n[document left out: this service does not take application/pdf]']],
  ])('reaches %s where it takes one, and is named where it does not', async (name, expected) => {
    const { wire } = services[name]
    const { asked } = await talk(name, { prompt: 'Open it.', behavior: { cache: false } }, [
      speak(wire, { calls: [{ id: 'call_1', name: 'open', input: {} }] }),
      speak(wire, { text: 'Ten euros.' }),
    ])
    const sent = asked[1]!.body[lists[wire]].slice(2)
    const flat = sent.flatMap((item: Asked['body']) => {
      const parts = [item.content ?? item.parts ?? item.output].flat()
      return parts.flatMap((part) => part.functionResponse?.response.output ?? (part.tool_use_id ? part.content : part))
    })
    expect(flat).toEqual(expected)
  })
})

async function sentTo(name: ServiceName, options: ServiceOptions): Promise<Asked> {
  const { make, wire } = services[name]
  const { fetch, asked } = fakeService(speak(wire, { text: 'hello' }))
  await ask(make({ fetch, apiKey: 'key', prices: false, ...options }), { system: 'Be brief.', thinking: 'low' })
  return asked[0]!
}

type RunOptions = Parameters<ReturnType<typeof createAgent>['run']>[0]

const talking =
  (tools: Parameters<typeof createAgent>[0]['tools'] = {}) =>
  async (name: ServiceName, run: RunOptions, answers = [speak(services[name].wire, { text: 'ok' })]) => {
    const { fetch, asked } = fakeService(...answers)
    const provider = services[name].make({ fetch, apiKey: 'key', prices: false })
    await createAgent({ provider, tools }).run(run)
    return { asked }
  }

const talk = talking()

/** Gemini has it in the address. */
const modelOf = ({ body, url }: Asked): string => body.model ?? /models\/([^:]+):/.exec(url)?.[1]

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text)
}
