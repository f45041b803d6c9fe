import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  AgentAbortedError,
  AgentAuthError,
  AgentContextExceededError,
  AgentError,
  type AgentHookMap,
  AgentProviderError,
  AgentQuotaError,
  AgentRateLimitError,
  createAgent,
  createMemoryStore,
  createSession,
  zodToJsonSchema,
} from '../../src/index.ts'
import { call, type ScriptedOptions, type Step, scripted, texts, tool } from '../../src/testing/index.ts'

describe('failures of a provider', () => {
  test.each([
    ['context_exceeded', AgentContextExceededError],
    ['provider_error', AgentProviderError],
    ['rate_limited', AgentRateLimitError],
    ['auth_failed', AgentAuthError],
    ['quota_exceeded', AgentQuotaError],
    ['aborted', AgentAbortedError],
    [null, AgentProviderError],
  ] as const)(
    'A180 classified as %s they leave run() as an error a caller can tell apart',
    async (kind, kindOfError) => {
      const cause = new Error('no luck')
      const error = await failureOf(cause, () => kind && { kind })
      expect(error.constructor).toBe(kindOfError)
      expect(error.cause).toBe(cause)
      expect(error).toBeInstanceOf(AgentError)
    },
  )

  test('A180 a provider that cannot classify, or fails at it, has still failed as a provider', async () => {
    const unclassified = await failureOf(new Error('no luck'))
    const misclassified = await failureOf(new Error('no luck'), () => {
      throw new TypeError('cannot read status of undefined')
    })
    for (const error of [unclassified, misclassified]) {
      expect(error).toBeInstanceOf(AgentProviderError)
      expect(error.message).toBe('Provider "acme" failed: no luck')
    }
  })

  test('A180 what a caller aborted is aborted, whatever the provider makes of it', async () => {
    const control = new AbortController()
    const provider = scripted(
      () => {
        control.abort()
        return new Error('socket closed')
      },
      { options: { classifyError: () => ({ kind: 'provider_error' }) } },
    )
    const run = createAgent({ provider }).run({ prompt: 'hi', signal: control.signal })
    await expect(run).rejects.toBeInstanceOf(AgentAbortedError)
  })

  test('A181 the error carries the provider, its code and whether to try again', async () => {
    const error = await failureOf(new Error('429'), () => ({
      kind: 'provider_error',
      providerCode: 'rate_limit',
      message: 'slow down',
      retryable: true,
    }))
    expect(error).toMatchObject({
      name: 'AgentProviderError',
      message: 'Provider "acme" failed: slow down',
      provider: 'acme',
      providerCode: 'rate_limit',
      retryable: true,
    })
  })

  test('A181 an exceeded context is a provider error too, and what is unknown stays absent', async () => {
    const error = await failureOf(new Error('too long'), () => ({ kind: 'context_exceeded', providerCode: 'ctx' }))
    expect(error).toBeInstanceOf(AgentProviderError)
    expect(error).toMatchObject({ provider: 'acme', providerCode: 'ctx' })
    expect(error).not.toMatchObject({ retryable: expect.anything() })
    const unknown = await failureOf(new Error('?'), () => null)
    expect(unknown).not.toMatchObject({ providerCode: expect.anything() })
  })
})

describe('structured output', () => {
  test('A182 after the last word one forced call to __output__ gives stats.output and fires output', async () => {
    const outputs: unknown[] = []
    const { stats, provider } = await extract([[call('1', 'look')], 'It is Ann, 30.', answer(ann)], person, {
      output: (ctx) => void outputs.push(ctx),
    })
    expect(stats.output).toEqual(ann)
    expect(outputs).toEqual([{ output: ann, schema: person }])
    expect(provider.requests.map(({ toolChoice }) => toolChoice)).toEqual([
      undefined,
      undefined,
      { name: '__output__' },
    ])
    const forced = provider.requests[2]!
    expect(forced.tools).toEqual([{ name: '__output__', description: 'Gives the final answer.', inputSchema: person }])
    expect(texts(forced.messages).slice(-2)).toEqual([
      'assistant: It is Ann, 30.',
      'user: Give the final answer now by calling __output__, and nothing else.',
    ])
  })

  test('A182 the forced call costs tokens but leaves no turn', async () => {
    const { stats, session } = await extract([{ text: 'Ann', usage: { input: 1, output: 2 } }, answer(ann, 10)], person)
    expect(stats).toMatchObject({ turns: 1, totalIn: 11, totalOut: 7, text: 'Ann' })
    expect(texts(session.turns)).toEqual(['user: go', 'assistant: Ann'])
  })

  test('A182 agent:done and the session know the output', async () => {
    const done: unknown[] = []
    const { store, session } = await extract(['Ann', answer(ann)], person, {
      'agent:done': ({ output }) => void done.push(output),
    })
    const ended = (await store.read(session.id)).flatMap((entry) => (entry.type === 'run_ended' ? [entry.output] : []))
    expect([done, ended]).toEqual([[ann], [ann]])
  })

  test('A182 without a schema nothing is forced', async () => {
    const { stats, provider } = await extract(['Ann'])
    expect(provider.requests).toHaveLength(1)
    expect('output' in stats).toBe(false)
  })

  test('A182 a follow-up is answered before the output is asked for', async () => {
    const provider = scripted('Ann', 'No, Bob', answer({ name: 'Bob', age: 1 }))
    const agent = createAgent({ provider, behavior: { schema: person } })
    await agent.followUp('are you sure?')
    const stats = await agent.run({ prompt: 'go' })
    expect(stats.output).toEqual({ name: 'Bob', age: 1 })
    expect(provider.requests.map(({ toolChoice }) => Boolean(toolChoice))).toEqual([false, false, true])
  })

  test('A182 values are converted as for tools', async () => {
    const { stats, provider } = await extract(['Ann', answer({ name: 'Ann', age: '30' })], person)
    expect(stats.output).toEqual(ann)
    expect(provider.requests).toHaveLength(2)
  })

  test.each([
    ['lacks a field', answer({ name: 'Ann' }), 'missing required property "age"'],
    ['breaks a rule deep inside', answer({ name: 'Ann', age: 30, tags: [1] }), '#/tags'],
    ['was not given at all', 'Ann, 30', 'the reply did not call __output__'],
    ['cannot be read', answer('{"name": "An'), 'looks cut off'],
  ] satisfies [string, Step, string][])(
    'A182 an answer that %s is asked for once more, with the reason',
    async (_, bad, why) => {
      const { stats, provider } = await extract(['Ann', bad, answer(ann)], person)
      expect(stats.output).toEqual(ann)
      expect(provider.requests).toHaveLength(3)
      expect(provider.requests[2]!.toolChoice).toEqual({ name: '__output__' })
      expect(texts(provider.requests[2]!.messages).at(-1)).toContain(why)
    },
  )

  test('A182 after two wrong answers the run fails as output_invalid', async () => {
    const outputs: unknown[] = []
    const wrong = answer({ name: 'Ann' })
    const run = extract(['Ann', wrong, wrong, answer(ann)], person, { output: (ctx) => void outputs.push(ctx) })
    const error = await run.catch((error: unknown) => error)
    expect(error).toBeInstanceOf(AgentProviderError)
    expect(error).toMatchObject({ provider: 'scripted', providerCode: 'output_invalid' })
    expect(outputs).toEqual([])
  })

  test.each([
    ['a list', { type: 'array', items: { type: 'string' } }, ['a', 'b']],
    ['a number', { type: 'number' }, 42],
    ['one of several', { anyOf: [{ type: 'string' }, { type: 'null' }] }, 'b'],
  ])('A182 an answer that is %s travels inside an object', async (_, schema, value) => {
    const { stats, provider } = await extract(['ok', answer({ value })], schema)
    expect(stats.output).toEqual(value)
    const { inputSchema } = provider.requests[1]!.tools[0]!
    expect(inputSchema).toMatchObject({ type: 'object', required: ['value'] })
  })

  test('A182 null is an answer where the schema allows it', async () => {
    const Named = z.object({ name: z.string(), nickname: z.string().nullable() })
    const named = { name: 'Ann', nickname: null }
    const { stats } = await extract(['ok', answer(named), answer(named)], zodToJsonSchema(z.toJSONSchema(Named)))
    expect(stats.output).toEqual(named)
  })

  test('A182 a list of something that refers to itself can be asked for too', async () => {
    const Node = z.object({
      name: z.string(),
      get children() {
        return z.array(Node)
      },
    })
    const tree = [{ name: 'root', children: [{ name: 'leaf', children: [] }] }]
    const { stats } = await extract(['ok', answer({ value: tree })], zodToJsonSchema(z.toJSONSchema(z.array(Node))))
    expect(stats.output).toEqual(tree)
  })

  test('A183 zodToJsonSchema takes out $schema and nothing else', async () => {
    const Person = z.object({ name: z.string(), age: z.number() })
    const made = z.toJSONSchema(Person)
    expect(made.$schema).toMatch(/json-schema\.org/)
    const schema = zodToJsonSchema(made)
    expect(schema).toEqual({
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'number' } },
      required: ['name', 'age'],
      additionalProperties: false,
    })
    const { stats } = await extract(['ok', answer(ann)], schema)
    expect(Person.parse(stats.output)).toEqual(ann)
  })
})

const ann = { name: 'Ann', age: 30 }
const person = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    age: { type: 'number' },
    tags: { type: 'array', items: { type: 'string' } },
  },
  required: ['name', 'age'],
}

describe('arguments that are no JSON', () => {
  const gibberish: Step = [
    {
      type: 'reply',
      content: [{ type: 'tool_call', id: 'c', name: 'look', input: '{"a": nonsense nonsense' }],
      usage: { input: 1, output: 1 },
      stop: 'tool_use',
    },
  ]
  const look = tool('look', () => 'seen')

  test('FP-19 in three turns in a row they end the run with a typed error, every call answered and none run', async () => {
    const provider = scripted(gibberish, gibberish, gibberish, 'never asked')
    let runs = 0
    const agent = createAgent({ provider, tools: { look: tool('look', () => void runs++) } })
    const failure = await agent.run({ prompt: 'go' }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(AgentProviderError)
    expect(failure).toMatchObject({ providerCode: 'unreadable_arguments', retryable: false })
    expect([provider.requests.length, runs]).toEqual([3, 0])
    const results = agent.turns.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result'))
    expect(results).toHaveLength(3)
  })

  test('FP-19 one call that can be read begins the count anew', async () => {
    const provider = scripted(gibberish, gibberish, [call('ok', 'look')], gibberish, gibberish, 'done')
    const { text } = await createAgent({ provider, tools: { look } }).run({ prompt: 'go' })
    expect(text).toBe('done')
  })
})

/** What the model sends when it is made to call `__output__`; a text stands for arguments as they were received. */
function answer(input: Record<string, unknown> | string, tokens = 10): Step {
  const reply = { type: 'tool_call', id: 'out', name: '__output__', input } as const
  return [{ type: 'reply', content: [reply], usage: { input: tokens, output: 5 }, stop: 'tool_use' }]
}

async function extract(script: readonly Step[], schema?: Record<string, unknown>, hooks: AgentHookMap = {}) {
  const provider = scripted(...script)
  const store = createMemoryStore()
  const session = await createSession({ store })
  const look = tool('look', () => 'Ann, 30')
  const agent = createAgent({ provider, tools: { look }, session, hooks, behavior: schema ? { schema } : {} })
  return { provider, store, session, stats: await agent.run({ prompt: 'go' }) }
}

async function failureOf(cause: Error, classifyError?: ScriptedOptions['classifyError']): Promise<Error> {
  const provider = scripted(cause, { options: { name: 'acme', ...(classifyError && { classifyError }) } })
  return createAgent({ provider })
    .run({ prompt: 'hi' })
    .then(
      () => Promise.reject(new Error('the run should have failed')),
      (error: Error) => error,
    )
}
