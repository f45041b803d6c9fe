import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { AgentProviderError, createAgent, createSession } from '../../src/index.ts'
import { call, type Step, scripted, texts, tool } from '../../src/testing/index.ts'
import type { ModelEvent, ToolDef } from '../../src/types.ts'

/** What a caller without TypeScript can pass. */
const create = (options: unknown) => createAgent(options as Parameters<typeof createAgent>[0])
const provider = scripted()
const echo = tool('echo', (input) => JSON.stringify(input))

describe('options that cannot be meant', () => {
  const schema = (inputSchema: unknown) => ({ ...echo, spec: { ...echo.spec, inputSchema } }) as ToolDef
  const cases: [string, unknown, RegExp][] = [
    ['no options', undefined, /takes an object such as \{ provider \}, got undefined/],
    ['no provider', {}, /needs a provider with meta\.defaultModel and stream\(\), got undefined/],
    ['a provider that is a string', { provider: 'anthropic' }, /"provider" must be an object, got "anthropic"/],
    ['servers of another form', { provider, mcpServers: { a: {} } }, /must be a list of servers, as in \[\{ name/],
    ['the name of another library', { provider, instructions: 'x' }, /no option "instructions"; write system/],
    ['an unknown option', { provider, sytem: 'x' }, /no option "sytem", did you mean "system"/],
    ['a system that is a number', { provider, system: 42 }, /"system" must be a string, got 42/],
    ['tools that are a list', { provider, tools: [echo] }, /"tools" must be tools by name, .*, got an array of 1/],
    ['a tool that is none', { provider, tools: { a: 'x' } }, /tools\.a must be a tool \{ spec, execute \}, got "x"/],
    [
      'a tool without a name',
      { provider, tools: { a: { spec: {}, execute() {} } } },
      /tools\.a\.spec\.name must be a name/,
    ],
    ['a tool without execute', { provider, tools: { a: { spec: echo.spec } } }, /tools\.a\.execute must be a function/],
    ['two tools of one name', { provider, tools: { a: echo, b: echo } }, /tools\.a and tools\.b are both named "echo"/],
    [
      'a schema that is none',
      { provider, tools: { a: schema('x') } },
      /inputSchema must be a schema of zod.* got string/,
    ],
    [
      'a schema of another type',
      { provider, tools: { a: schema({ type: 'string' }) } },
      /type must be "object".*"string"/,
    ],
    ['bad properties', { provider, tools: { a: schema({ properties: [1] }) } }, /properties must be a record/],
    [
      'a bad property',
      { provider, tools: { a: schema({ properties: { x: 1 } }) } },
      /properties\.x must be a JSON Schema/,
    ],
    [
      'bad required',
      { provider, tools: { a: schema({ required: 'x' }) } },
      /required must be a list of property names/,
    ],
    [
      'zod inside a JSON Schema',
      { provider, tools: { a: schema({ properties: { x: z.string() } }) } },
      /as in z\.object/,
    ],
    [
      'an unknown hook',
      { provider, hooks: { 'tool:gates': () => {} } },
      /Unknown hook "tool:gates", did you mean "tool:gate"/,
    ],
    [
      'a handler that is none',
      { provider, hooks: { 'tool:gate': 'x' } },
      /handler of hook "tool:gate" must be a function/,
    ],
    [
      'an unknown behavior',
      { provider, behavior: { maxTurn: 3 } },
      /behavior\.maxTurn does not exist, did you mean "maxTurns"/,
    ],
    ['a bad behavior', { provider, behavior: { maxTurns: '3' } }, /behavior\.maxTurns must be a whole number.*got "3"/],
    ['zero turns', { provider, behavior: { maxTurns: 0 } }, /at least 1, got 0/],
    ['a bad budget', { provider, behavior: { toolBudgets: { a: { max: 1 } } } }, /toolBudgets must be a record/],
    [
      'a search without results',
      { provider, behavior: { toolSearch: { limit: 0 } } },
      /limit\?: whole number of at least 1/,
    ],
    [
      'a search that is no object',
      { provider, behavior: { toolSearch: true } },
      /toolSearch must be an object.*got true/,
    ],
    ['a bad search tool', { provider, behavior: { toolSearch: { tool: 'x' } } }, /toolSearch must be an object/],
    [
      'an unknown field of it',
      { provider, behavior: { toolSearch: { max: 3 } } },
      /toolSearch.*got an object with max/,
    ],
    ['a session that was not awaited', { provider, session: createSession() }, /did you forget to await it/],
    ['an alias for nothing', { provider, toolAliases: { a: '' } }, /toolAliases\.a must be a name/],
    ['two aliases alike', { provider, toolAliases: { a: 'x', b: 'x' } }, /"a" and "b" cannot both be shown as "x"/],
    ['a server without a transport', { provider, mcpServers: [{ name: 'a' }] }, /mcpServers\[0\] has no transport/],
  ]
  test.each(cases)('%s', (_, options, message) => {
    expect(() => create(options)).toThrow(message)
  })

  const runCases: [string, unknown, RegExp][] = [
    ['a prompt that is a number', { prompt: 3 }, /prompt must be a text or a list of parts.*got 3/],
    ['an empty prompt', { prompt: '' }, /The prompt is empty/],
    ['an empty list', { prompt: [] }, /prompt must be a text or a list of parts/],
    ['a part that is none', { prompt: [{ type: 'video' }] }, /prompt\[0\] must be \{ type: 'text', text \}/],
    ['an image without data', { prompt: 'x', images: [{ mediaType: 'image/png' }] }, /images\[0\] must be/],
    ['images that are no list', { prompt: 'x', images: 'y' }, /images must be a list/],
    ['an unknown option', { promt: 'x' }, /no option "promt", did you mean "prompt"/],
    ['a bad level', { prompt: 'x', thinking: 'hard' }, /"thinking" must be "off", "minimal".*got "hard"/],
    ['a signal that is none', { prompt: 'x', signal: {} }, /"signal" must be an AbortSignal/],
    ['an empty model', { prompt: 'x', model: '' }, /"model" must be the name of a model/],
    ['a bad behavior', { prompt: 'x', behavior: { cache: 1 } }, /behavior\.cache must be true or false, got 1/],
    ['a bad tool', { prompt: 'x', tools: { a: 1 } }, /run tools\.a must be a tool/],
    ['an unknown hook', { prompt: 'x', hooks: { 'turn:befor': () => {} } }, /did you mean "turn:before"/],
    ['nothing at all', {}, /Nothing to do/],
    ['no object', 'hello', /run\(\) takes an object such as \{ prompt: '…' \}, got "hello"/],
  ]
  test.each(runCases)('run: %s', async (_, options, message) => {
    const agent = createAgent({ provider: scripted('never asked') })
    await expect(agent.run(options as object)).rejects.toThrow(message)
    expect(agent.isRunning).toBe(false)
    expect((await agent.run({ prompt: 'go' })).text).toBe('never asked')
  })
})

describe('a provider that yields garbage', () => {
  const reply = (more: object) => [
    { type: 'reply', content: [{ type: 'text', text: 'x' }], usage: {}, stop: 'end', ...more },
  ]
  const cases: [string, unknown, RegExp][] = [
    ['null', [null], /yielded null, which is not a ModelEvent/],
    ['a number', [7], /yielded 7/],
    ['an unknown event', [{ type: 'nonsense' }], /yielded an object with type/],
    ['a delta that is no text', [{ type: 'text', delta: 3 }], /text event whose delta is 3/],
    ['no reply at all', [{ type: 'start' }], /ended before the reply was complete/],
    ['a reply without content', reply({ content: undefined }), /its reply has no content list, got undefined/],
    ['a block that is none', reply({ content: [null] }), /block 0 of its reply is null/],
    ['an unknown block', reply({ content: [{ type: 'video' }] }), /block 0 of its reply has the unknown type "video"/],
    ['text without text', reply({ content: [{ type: 'text' }] }), /block 0 of its reply has no text/],
  ]
  test.each(cases)('%s ends in a provider error that says so, and the session goes on', async (_, events, message) => {
    const session = await createSession()
    const agent = createAgent({ provider: scripted(events as Step, 'better now'), session })
    const failed = agent.run({ prompt: 'go' })
    await expect(failed).rejects.toBeInstanceOf(AgentProviderError)
    await expect(failed).rejects.toThrow(message)
    expect((await agent.run()).text).toBe('better now')
    expect(texts(session.turns)).toEqual(['user: go', 'assistant: better now'])
  })

  test('usage that is no number never makes a total NaN', async () => {
    const usage = { input: Number.NaN, output: -5, cacheRead: '7', cost: Number.POSITIVE_INFINITY }
    const stats = await createAgent({ provider: scripted(reply({ usage }) as Step) }).run({ prompt: 'go' })
    expect([stats.totalIn, stats.totalOut, stats.cost]).toEqual([0, 0, undefined])
    expect(stats.turnUsage).toEqual([{ input: 0, output: 0, model: 'script-1' }])
  })

  test('an unknown stop reason becomes "other" and ends the turn safely', async () => {
    const stats = await createAgent({ provider: scripted(reply({ stop: 'quantum' }) as Step) }).run({ prompt: 'go' })
    expect([stats.stopReason, stats.text]).toEqual(['other', 'x'])
  })

  test('the content decides, not the label: "end" with a call runs it, "tool_use" without one ends', async () => {
    const agent = createAgent({
      provider: scripted({ calls: [call('1', 'echo')], stop: 'end' }, { text: 'fin', stop: 'tool_use' }),
      tools: { echo },
    })
    expect((await agent.run({ prompt: 'go' })).text).toBe('fin')
    expect(texts(agent.turns)[2]).toBe('user: ←{}')
  })

  test('an empty reply is asked for once more, and the second try counts', async () => {
    const empty = { content: [] }
    const agent = createAgent({ provider: scripted(empty, 'here I am') })
    const retries: string[] = []
    agent.hooks.hook('stream:retry', ({ attempt, reason }) => void retries.push(`${attempt}: ${reason}`))
    expect((await agent.run({ prompt: 'go' })).text).toBe('here I am')
    expect(retries).toEqual(['2: the reply was empty'])
  })

  test('two empty replies are a typed error after exactly two requests', async () => {
    const silent = scripted({ content: [] }, { text: '' }, 'too late')
    const failed = createAgent({ provider: silent }).run({ prompt: 'go' })
    await expect(failed).rejects.toMatchObject({ providerCode: 'empty_reply', retryable: true })
    expect(silent.requests.length).toBe(2)
  })

  test('a refusal without a word is final and not asked for again', async () => {
    const refusing = scripted({ content: [], stop: 'refusal' }, 'never')
    await expect(createAgent({ provider: refusing }).run({ prompt: 'go' })).rejects.toMatchObject({
      providerCode: 'refusal',
    })
    expect(refusing.requests.length).toBe(1)
  })
})

describe('call ids that a service got wrong', () => {
  async function idsAfter(...steps: Step[]): Promise<{ ids: string[]; results: string[]; ran: number }> {
    let ran = 0
    const agent = createAgent({
      provider: scripted(...steps, 'fin'),
      tools: { echo: tool('echo', () => String(++ran)) },
    })
    await agent.run({ prompt: 'go' })
    const blocks = agent.turns.flatMap((turn) => turn.content)
    const ids = blocks.flatMap((block) => (block.type === 'tool_call' ? [block.id] : []))
    const results = blocks.flatMap((block) => (block.type === 'tool_result' ? [block.callId] : []))
    return { ids, results, ran }
  }

  test.each<[string, Step[]]>([
    ['the same id twice in one reply', [[call('a', 'echo'), call('a', 'echo')]]],
    ['an id from an earlier turn', [[call('a', 'echo')], [call('a', 'echo')]]],
    ['an empty id', [[call('', 'echo'), call('', 'echo')]]],
  ])('%s: each call runs once and has its own result', async (_, steps) => {
    const { ids, results, ran } = await idsAfter(...steps)
    expect(new Set(ids).size).toBe(2)
    expect(results).toEqual(ids)
    expect(ran).toBe(2)
  })

  test('streamed and final ids agree even when they had to be replaced', async () => {
    const agent = createAgent({ provider: scripted([call('a', 'echo'), call('a', 'echo')], 'fin'), tools: { echo } })
    const streamed: string[] = []
    agent.hooks.hook('stream:tool:start', ({ callId }) => void streamed.push(callId))
    await agent.run({ prompt: 'go' })
    const blocks = agent.turns[1]!.content
    expect(streamed).toEqual(blocks.map((block) => block.type === 'tool_call' && block.id))
  })

  test.each(['constructor', 'toString', '__proto__', ''])(
    'the name %j is an unknown tool, nothing else',
    async (name) => {
      const agent = createAgent({ provider: scripted([call('1', name)], 'fin'), tools: { echo } })
      await agent.run({ prompt: 'go' })
      expect(texts(agent.turns)[2]).toBe(`user: ←Unknown tool: ${name}`)
    },
  )
})

test('half an emoji from the model is repaired before it is stored, and refused in arguments', async () => {
  const events: ModelEvent[] = [
    {
      type: 'reply',
      content: [
        { type: 'text', text: 'ok \ud83d' },
        { type: 'tool_call', id: '1', name: 'echo', input: '{"a":"\\ud83d"}' },
      ],
      usage: { input: 1, output: 1 },
      stop: 'tool_use',
    },
  ]
  const agent = createAgent({ provider: scripted(events, 'fin'), tools: { echo: tool('echo', () => 'bad \udc00') } })
  await agent.run({ prompt: 'go' })
  expect(JSON.stringify(agent.turns).isWellFormed()).toBe(true)
  expect(texts(agent.turns).slice(1, 3)).toEqual([
    'assistant: ok � →echo({})',
    expect.stringContaining('half a character (\\ud83d)'),
  ])
})

describe('what a tool returns', () => {
  const circular: Record<string, unknown> = {}
  circular.self = circular
  test.each<[string, unknown, string]>([
    ['nothing', undefined, '(no output)'],
    ['a number', 7, '7'],
    ['an object', { a: 1 }, '{"a":1}'],
    ['a BigInt', 10n, '10'],
    ['a list of things', [1, 2], '[1,2]'],
    ['a cycle', circular, 'Tool error: '],
    ['a function', () => {}, 'Tool error: it returned a function'],
    ['a symbol', Symbol('x'), 'Tool error: it returned a symbol'],
  ])('%s becomes a result', async (_, value, shown) => {
    const agent = createAgent({
      provider: scripted([call('1', 'odd')], 'fin'),
      tools: { odd: tool('odd', () => value as string) },
    })
    await agent.run({ prompt: 'go' })
    expect(texts(agent.turns)[2]).toContain(`user: ←${shown}`)
  })

  test('details go to the log and to hooks, never to the model, and are a copy', async () => {
    const details = { table: [1, 2] }
    const provider = scripted([call('1', 'query')], 'fin')
    const agent = createAgent({ provider, tools: { query: tool('query', () => ({ output: 'two rows', details })) } })
    const heard: unknown[] = []
    agent.hooks.hook('tool:after', (ctx) => void heard.push(ctx.details))
    await agent.run({ prompt: 'go' })
    details.table.push(3)
    expect(heard).toEqual([{ table: [1, 2] }])
    expect(JSON.stringify(provider.requests[1])).not.toContain('table')
  })
})
