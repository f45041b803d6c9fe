import { describe, expect, test } from 'vitest'
import { AgentAbortedError, createAgent, createInteractionTool, createSession } from '../../src/index.ts'
import { call, fakeClock, scripted, texts, tool } from '../../src/testing/index.ts'

describe('asking a person', () => {
  test.each([
    ['a text as it is', 'blue', 'blue'],
    ['an object as JSON', { colour: 'blue', shades: [1, 2] }, '{"colour":"blue","shades":[1,2]}'],
    [
      'an object whole, whatever its fields are called',
      { output: 'blue', sure: true },
      '{"output":"blue","sure":true}',
    ],
  ])('A149 the model gets %s', async (_, given, shown) => {
    const asked: unknown[] = []
    const { agent, run } = ask((input) => {
      asked.push(input)
      return Promise.resolve(given)
    })
    await run
    expect(asked).toEqual([{ question: 'which colour?' }])
    expect(agent.turns[2]!.content).toEqual([{ type: 'tool_result', callId: '1', output: shown }])
  })

  test('A149 the agent waits as long as the answer takes', async () => {
    const clock = fakeClock()
    const answer = Promise.withResolvers<string>()
    const { agent, run, provider } = ask(() => answer.promise, clock)
    await clock.advance(24 * 60 * 60 * 1000)
    expect(provider.requests).toHaveLength(1)
    answer.resolve('blue')
    await run
    expect(texts(agent.turns)[2]).toBe('user: ←blue')
  })

  test('A149 a question that cannot be put is an error the model reads', async () => {
    const { agent, run } = ask(() => Promise.reject(new Error('no person there')))
    await run
    expect(agent.turns[2]!.content).toEqual([
      { type: 'tool_result', callId: '1', output: 'Tool error: no person there', isError: true },
    ])
  })

  test('A149 aborting ends the wait, and the interaction is cancelled', async () => {
    const signals: AbortSignal[] = []
    const { agent, run } = ask((_, { signal }) => {
      signals.push(signal)
      agent.abort()
      return new Promise(() => {})
    })
    await expect(run).rejects.toBeInstanceOf(AgentAbortedError)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    expect(texts(agent.turns).at(-1)).toMatch(/^user: ←Aborted: the run was stopped while this call ran/)
  })

  test('A149 the model is shown the schema, and held to it', async () => {
    const asked: unknown[] = []
    const provider = scripted([call('1', 'ask_user', {})], 'sorry')
    const askUser = createInteractionTool({ name: 'ask_user', schema, onRequest: (input) => void asked.push(input) })
    const agent = createAgent({ provider, tools: { askUser } })
    await agent.run({ prompt: 'go' })
    expect(provider.requests[0]!.tools).toEqual([
      { name: 'ask_user', description: expect.any(String), inputSchema: schema },
    ])
    expect(texts(agent.turns)[2]).toMatch(/^user: ←Validation error: .*question/)
    expect(asked).toEqual([])
  })
})

describe('prompts of several parts', () => {
  const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw==' } as const
  const pdf = { type: 'document', mediaType: 'application/pdf', data: 'JVBERg==', name: 'bill.pdf' } as const
  const text = { type: 'text', text: 'what is this?' } as const

  test('A234 text, images and documents reach the provider in their order, and the session', async () => {
    const provider = scripted('a bill')
    const agent = createAgent({ provider })
    await agent.run({ prompt: [image, text, pdf] })
    expect(provider.requests[0]!.messages).toMatchObject([{ role: 'user', content: [image, text, pdf] }])
    expect(agent.turns[0]!.content).toEqual([image, text, pdf])
  })

  test('A234 steering and follow-ups may have parts too', async () => {
    const provider = scripted('yes?', 'I see')
    const agent = createAgent({ provider })
    await agent.followUp([text, pdf])
    await agent.run({ prompt: 'hi' })
    expect(provider.requests[1]!.messages.at(-1)!.content).toEqual([text, pdf])
  })

  test('A234 a part that is none is refused before anything is sent or stored', async () => {
    const provider = scripted('never')
    const agent = createAgent({ provider })
    const broken = { type: 'image', mediaType: 'image/png' } as typeof image
    await expect(agent.run({ prompt: [text, broken] })).rejects.toThrow(/prompt\[1\] must be .*base64/)
    expect([provider.requests, agent.turns]).toEqual([[], []])
  })
})

describe('recipes', () => {
  test('A235 long results of MCP tools are cut to their end', async () => {
    const outputs = [`${'a'.repeat(9000)}${'z'.repeat(4096)}`, 'b'.repeat(8192)]
    const agent = createAgent({
      provider: scripted([call('1', 'mcp_docs_read'), call('2', 'mcp_docs_read')], 'done'),
      mcpServers: [{ name: 'docs', transport: 'stdio', command: 'docs' }],
      mcpConnector: async () => ({
        tools: { read: tool('mcp_docs_read', () => outputs.shift()!) },
        close: async () => {},
      }),
    })
    agent.hooks.hook('mcp:tool:transform', (ctx) => {
      if (typeof ctx.result !== 'string' || ctx.outputBytes <= 8192) return
      const end = ctx.result.slice(-4096)
      ctx.result = `…(${ctx.outputBytes - end.length} bytes truncated from head)…\n${end}`
    })
    await agent.run({ prompt: 'go' })
    const [first, second] = texts([agent.turns[2]!])[0]!.replace('user: ←', '').split(' ←')
    expect(first).toBe(`…(9000 bytes truncated from head)…\n${'z'.repeat(4096)}`)
    expect(second).toBe('b'.repeat(8192))
  })

  test('A235 a tool that the model made up gets a friendly answer instead of an error', async () => {
    const errors: unknown[] = []
    const agent = createAgent({ provider: scripted([call('1', 'EnterPlanMode'), call('2', 'LeavePlanMode')], 'done') })
    agent.hooks.hook('tool:error', ({ name }) => void errors.push(name))
    agent.hooks.hook('tool:unknown', (ctx) => {
      if (ctx.name !== 'EnterPlanMode') return
      ctx.result = 'There is no plan mode here; write the plan down as text.'
      ctx.suppressError = true
    })
    await agent.run({ prompt: 'go' })
    expect(agent.turns[2]!.content).toEqual([
      { type: 'tool_result', callId: '1', output: 'There is no plan mode here; write the plan down as text.' },
      { type: 'tool_result', callId: '2', output: 'Unknown tool: LeavePlanMode', isError: true },
    ])
    expect(errors).toEqual(['LeavePlanMode'])
  })

  test('A235 of a long conversation the first message and the newest 29 are sent', async () => {
    const session = await createSession()
    await session.addTurns(Array.from({ length: 40 }, (_, i) => message(i % 2 === 0 ? 'user' : 'assistant', `${i}`)))
    const provider = scripted('ok')
    const agent = createAgent({ provider, session })
    agent.hooks.hook('context:transform', keepNewest)
    await agent.run({ prompt: 'last' })
    const sent = texts(provider.requests[0]!.messages).map((text) => text.replace(/^\w+: /, ''))
    expect(sent).toEqual(['0', ...Array.from({ length: 28 }, (_, i) => `${i + 12}`), 'last'])
    expect(session.turns).toHaveLength(42)
  })

  test('A235 a result whose call was cut off that way is not sent without it', async () => {
    const session = await createSession()
    const provider = scripted(...Array.from({ length: 20 }, (_, i) => [call(`c${i}`, 'look')]), 'done')
    const agent = createAgent({ provider, session, tools: { look: tool('look', () => 'seen') } })
    agent.hooks.hook('context:transform', keepNewest)
    await agent.run({ prompt: 'first' })
    const { messages } = provider.requests.at(-1)!
    const ids = { calls: [] as string[], results: [] as string[] }
    for (const block of messages.flatMap(({ content }) => content)) {
      if (block.type === 'tool_call') ids.calls.push(block.id)
      if (block.type === 'tool_result') ids.results.push(block.callId)
    }
    expect(texts(messages)[0]).toBe('user: first')
    expect(ids.results).toEqual(ids.calls)
    expect(ids.calls).toEqual(Array.from({ length: 14 }, (_, i) => `c${i + 6}`))
  })
})

const message = (role: 'user' | 'assistant', text: string) => ({ role, content: [{ type: 'text' as const, text }] })

function keepNewest({ messages }: { messages: Parameters<typeof texts>[0][number][] }): void {
  const most = 30
  if (messages.length <= most) return
  messages.splice(1, messages.length - most)
}

const schema = { type: 'object', properties: { question: { type: 'string' } }, required: ['question'] }

type OnRequest = Parameters<typeof createInteractionTool<{ question: string }>>[0]['onRequest']

/** An agent whose model asks one question. */
function ask(onRequest: OnRequest, clock = fakeClock()) {
  const provider = scripted([call('1', 'ask_user', { question: 'which colour?' })], 'thanks')
  const askUser = createInteractionTool<{ question: string }>({ name: 'ask_user', schema, onRequest })
  const agent = createAgent({ provider, tools: { askUser }, clock })
  return { agent, provider, run: agent.run({ prompt: 'go' }) }
}
