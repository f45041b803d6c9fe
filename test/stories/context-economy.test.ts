import { describe, expect, test } from 'vitest'
import { type Behavior, createAgent, createSession, type ToolDef, type ToolResultContent } from '../../src/index.ts'
import {
  call,
  memoryExecution,
  type ScriptedProvider,
  type Step,
  scripted,
  texts,
  tool,
} from '../../src/testing/index.ts'

describe('images and a model that cannot see', () => {
  test('A093 images that are stored become markers in the request, and stay in the session', async () => {
    const session = await createSession()
    const tools = { shoot: tool('shoot', () => [{ type: 'text', text: 'here:' }, image]) }
    await createAgent({ provider: scripted([call('1', 'shoot')], 'seen'), tools, session }).run({ prompt: [image] })
    const before = structuredClone(session.turns)

    const provider = scripted('read', { options: { capabilities: { vision: false } } })
    await createAgent({ provider, tools, session }).run({ prompt: 'and now?' })
    const marker = '[image: image/png, 6 bytes, not shown because this model cannot see images]'
    expect(texts(provider.requests[0]!.messages)).toEqual([
      `user: ${marker}`,
      'assistant: →shoot({})',
      `user: ←here: ${marker}`,
      'assistant: seen',
      'user: and now?',
    ])
    expect(session.turns.slice(0, before.length)).toEqual(before)
  })

  test('A093 a model that can see gets them as they are', async () => {
    const provider = scripted([call('1', 'shoot')], 'seen')
    await createAgent({ provider, tools: { shoot: tool('shoot', () => [image]) } }).run({ prompt: 'look' })
    expect(provider.requests[1]!.messages[2]!.content).toEqual([{ type: 'tool_result', callId: '1', output: [image] }])
  })
})

describe('tail compaction', () => {
  test('A164 over 131072 bytes of results, all but those of the newest four turns become stubs', async () => {
    const whole = 'x'.repeat(16_384)
    const { requests, session } = await talk(10, 16_384, { compactStrategy: 'tail' })
    expect(resultsOf(requests[8]!)).toEqual(Array(8).fill(whole)) // just the threshold
    const stub = '[Result left out to save space: 16384 bytes. Call the tool again if you need it.]'
    expect(resultsOf(requests[9]!)).toEqual([...Array(5).fill(stub), ...Array(4).fill(whole)])
    expect(resultsOf(requests[10]!)).toEqual([...Array(6).fill(stub), ...Array(4).fill(whole)])
    expect(session.turns.flatMap(outputsOf)).toEqual(Array(10).fill(whole))
  })

  test('A164 threshold and number of turns can be chosen', async () => {
    const behavior = { compactStrategy: 'tail', compactThreshold: 1000, compactKeepTurns: 1 } as const
    const { requests } = await talk(3, 500, behavior)
    expect(resultSizes(requests[2]!)).toEqual([500, 500])
    expect(resultSizes(requests[3]!)).toEqual([expect.any(Number), expect.any(Number), 500])
    expect(resultsOf(requests[3]!)[1]).toMatch(/^\[Result left out/)
  })

  test('A164 nothing is left out unless it was asked for', async () => {
    const { requests } = await talk(6, 32_768, {})
    expect(resultSizes(requests.at(-1)!)).toEqual(Array(6).fill(32_768))
  })

  test('A164 images that the model cannot see weigh nothing', async () => {
    const session = await createSession()
    const photo = { ...image, data: 'A'.repeat(4000) }
    const seeing = scripted([call('1', 'get')], [call('2', 'get')], 'ok')
    const outputs: (string | ToolResultContent[])[] = [[photo], 'a text of some length '.repeat(10)]
    const get = tool('get', () => outputs.shift()!)
    await createAgent({ provider: seeing, tools: { get }, session }).run({ prompt: 'go' })

    const blind = scripted('ok', { options: { capabilities: { vision: false } } })
    const behavior = { compactStrategy: 'tail', compactThreshold: 2000, compactKeepTurns: 0 } as const
    await createAgent({ provider: blind, tools: { get }, session, behavior }).run({ prompt: 'go on' })
    expect(resultsOf(blind.requests[0]!)[1]).toBe('a text of some length '.repeat(10))
  })

  test('A165 text, images and the session stay as they are', async () => {
    const session = await createSession()
    const provider = scripted({ text: 'I look', calls: [call('1', 'get')] }, 'done')
    const behavior = { compactStrategy: 'tail', compactThreshold: 0, compactKeepTurns: 0 } as const
    const get = tool('get', () => 'y'.repeat(200))
    await createAgent({ provider, tools: { get }, session, behavior }).run({
      prompt: [{ type: 'text', text: 'x'.repeat(300) }, image],
    })
    const sent = provider.requests[1]!.messages
    expect(sent.slice(0, 2)).toEqual(session.turns.slice(0, 2))
    expect(sent[0]!.content[1]).toEqual(image)
    expect(outputsOf(sent[2]!)[0]).toMatch(/^\[Result left out to save space: 200 bytes/)
    expect(outputsOf(session.turns[2]!)).toEqual(['y'.repeat(200)])
  })

  test('A165 a hook sees the stubs, for it comes after', async () => {
    const seen: unknown[] = []
    const provider = scripted([call('1', 'get')], 'done')
    await createAgent({
      provider,
      tools: { get: tool('get', () => 'y'.repeat(200)) },
      behavior: { compactStrategy: 'tail', compactThreshold: 0, compactKeepTurns: 0 },
      hooks: { 'context:transform': ({ messages }) => void seen.push(messages.flatMap(outputsOf)) },
    }).run({ prompt: 'go' })
    expect(seen).toEqual([[], [expect.stringMatching(/^\[Result left out/)]])
  })
})

describe('results that are too big', () => {
  const text = `${'é'.repeat(1023)}x${'é'.repeat(500)}` // a preview of 2048 bytes would cut through a character

  test('A166 go to a file, and a stub with tool, size, path and the first 2 KiB takes their place', async () => {
    const execution = memoryExecution()
    const { provider } = await produce({ persistThreshold: 3000, persistDir: '/out/' }, { text, execution })
    expect([...execution.files.values()]).toEqual([text])
    const [path] = [...execution.files.keys()]
    expect(path).toMatch(/^\/out\/[^/]+\.txt$/)
    expect(resultsOf(provider.requests[1]!)).toEqual([
      `<persisted-output tool="produce" bytes="3047" path="${path}">\n${'é'.repeat(1023)}x\n</persisted-output>`,
    ])
  })

  test('A166 the preview is 2048 bytes where no character lies across the end', async () => {
    const { session } = await produce({ persistThreshold: 10, persistDir: '/out' }, { text: 'x'.repeat(9000) })
    expect(String(session.turns.flatMap(outputsOf)[0]).split('\n')[1]).toBe('x'.repeat(2048))
  })

  test('A166 each call has a file of its own, whatever its id looks like', async () => {
    const execution = memoryExecution()
    const provider = scripted([call('../../etc/a', 'produce'), call('b', 'produce')], 'done')
    const produce = tool('produce', (_, { callId }) => `${callId} ${text}`)
    const behavior = { persistThreshold: 10, persistDir: '/out' }
    await createAgent({ provider, tools: { produce }, execution, behavior }).run({ prompt: 'go' })
    expect([...execution.files.keys()].every((path) => /^\/out\/[^/]+$/.test(path))).toBe(true)
    expect([...execution.files.values()]).toEqual([`../../etc/a ${text}`, `b ${text}`])
  })

  test('A166 the file holds what the hooks made of the result', async () => {
    const execution = memoryExecution()
    const provider = scripted([call('1', 'produce')], 'done')
    await createAgent({
      provider,
      tools: { produce: tool('produce', () => `${text} secret`) },
      execution,
      behavior: { persistThreshold: 10, persistDir: '/out' },
      hooks: { 'tool:transform': (ctx) => void (ctx.result = String(ctx.result).replace('secret', '***')) },
    }).run({ prompt: 'go' })
    expect([...execution.files.values()]).toEqual([`${text} ***`])
  })

  test.each([
    ['A167 stay where they are when no folder was named', { persistThreshold: 10 }],
    ['A167 stay where they are when no threshold was named', { persistDir: '/out' }],
    ['A167 stay where they are up to the threshold', { persistThreshold: 3047, persistDir: '/out' }],
    [
      'A167 stay where they are for tools that are excluded by their canonical name',
      { persistThreshold: 10, persistDir: '/out', persistExcludeTools: ['produce'] },
    ],
  ] satisfies [string, Behavior][])('%s', async (_, behavior) => {
    const execution = memoryExecution()
    const { provider } = await produce(behavior, { text, execution })
    expect(resultsOf(provider.requests[1]!)).toEqual([text])
    expect(execution.files.size).toBe(0)
  })

  test('A168 the stub is what the session stores and what tool:after measures', async () => {
    const { session, after } = await produce({ persistThreshold: 10, persistDir: '/out' }, { text })
    const [stored] = session.turns.flatMap(outputsOf)
    expect(stored).toMatch(/^<persisted-output tool="produce" bytes="3047"/)
    expect(after).toEqual([{ result: stored, outputBytes: Buffer.byteLength(String(stored)) }])
  })
})

describe('thinking', () => {
  test.each([
    ['off', undefined],
    ['minimal', 1024],
    ['low', 4096],
    ['medium', 10_240],
    ['high', 32_768],
  ] as const)('A184 level %s thinks for %s tokens', async (thinking, budget) => {
    const provider = scripted('ok')
    await createAgent({ provider }).run({ prompt: 'hi', thinking })
    const { thinking: level, thinkingBudget, maxTokens } = provider.requests[0]!
    expect({ level, thinkingBudget, maxTokens }).toEqual({ level: thinking, thinkingBudget: budget, maxTokens: 16_384 })
  })

  test('A184 adaptive leaves it to a model that can, and is off for others', async () => {
    const able = scripted('ok', { options: { capabilities: { adaptiveThinking: true } } })
    const unable = scripted('ok')
    for (const provider of [able, unable]) await createAgent({ provider }).run({ prompt: 'hi', thinking: 'adaptive' })
    expect(thoughts(able)).toEqual([['adaptive', undefined, 16_384]])
    expect(thoughts(unable)).toEqual([['off', undefined, 16_384]])
  })

  test('A185 an exact budget beats the number of the level, and needs no level', async () => {
    const provider = scripted('ok', 'ok', 'ok')
    const agent = createAgent({ provider, behavior: { thinkingBudget: 5000 } })
    await agent.run({ prompt: 'hi', thinking: 'low' })
    await agent.run({ prompt: 'hi' })
    await agent.run({ prompt: 'hi', thinking: 'off' })
    expect(thoughts(provider)).toEqual([
      ['low', 5000, 16_384],
      ['medium', 5000, 16_384],
      ['off', undefined, 16_384],
    ])
  })

  test('A185 an adaptive model is bounded by the smaller of maxTokens and the budget', async () => {
    const provider = scripted('ok', 'ok', { options: { capabilities: { adaptiveThinking: true } } })
    const agent = createAgent({ provider, behavior: { maxTokens: 8000 } })
    for (const thinkingBudget of [2000, 9000])
      await agent.run({ prompt: 'hi', thinking: 'adaptive', behavior: { thinkingBudget } })
    expect(thoughts(provider)).toEqual([
      ['adaptive', 2000, 2000],
      ['adaptive', 9000, 8000],
    ])
  })

  test('A186 the budget decays turn by turn down to its floor, and starts anew with each run', async () => {
    const decay = { afterTurn: 5, factor: 0.5, floor: 1024 }
    const vector = [8192, 8192, 8192, 8192, 8192, 4096, 2048, 1024, 1024]
    expect(await budgets({ thinkingBudget: 8192, thinkingDecay: decay }, 9, 2)).toEqual([...vector, 8192, 8192])
  })

  test('A187 a function may give any curve between nothing and the whole budget', async () => {
    const wishes = [2 * 8192, 100.5, -5, Number.NaN]
    const thinkingDecay = (turn: number) => wishes[turn - 1]!
    expect(await budgets({ thinkingBudget: 8192, thinkingDecay }, 4)).toEqual([8192, 100, undefined, 8192])
    const asked: unknown[] = []
    const curve = (...args: [number, number]) => asked.push(args) && 1
    await budgets({ thinkingBudget: 8192, thinkingDecay: curve }, 2)
    expect(asked).toEqual([
      [1, 8192],
      [2, 8192],
    ])
  })

  test('A187 without a budget there is nothing to decay, whatever the level', async () => {
    expect(await budgets({ thinkingDecay: () => 1 }, 2)).toEqual([32_768, 32_768])
  })
})

const image = { type: 'image', mediaType: 'image/png', data: 'AAAAAAAA' } as const

type Request = ScriptedProvider['requests'][number]
type Message = Request['messages'][number]

const outputsOf = ({ content }: Message) =>
  content.flatMap((block) => (block.type === 'tool_result' ? [block.output] : []))
const resultsOf = ({ messages }: Request) => messages.flatMap(outputsOf)
const resultSizes = (request: Request) => resultsOf(request).map((output) => output.length)

const thoughts = ({ requests }: ScriptedProvider) =>
  requests.map(({ thinking, thinkingBudget, maxTokens }) => [thinking, thinkingBudget, maxTokens])

/** A conversation in which every turn but the last gets one result of so many bytes. */
async function talk(turns: number, bytes: number, behavior: Behavior) {
  const session = await createSession()
  const provider = scripted(...calling('get', turns), 'done')
  const get = tool('get', () => 'x'.repeat(bytes))
  await createAgent({ provider, tools: { get }, session, behavior }).run({ prompt: 'go' })
  return { requests: provider.requests, session }
}

async function produce(
  behavior: Behavior,
  { text, execution = memoryExecution() }: { text: string; execution?: ReturnType<typeof memoryExecution> },
) {
  const after: unknown[] = []
  const session = await createSession()
  const provider = scripted([call('1', 'Make')], 'done')
  const agent = createAgent({
    provider,
    tools: { produce: tool('produce', () => text) },
    toolAliases: { produce: 'Make' },
    session,
    execution,
    behavior,
    hooks: { 'tool:after': ({ result, outputBytes }) => void after.push({ result, outputBytes }) },
  })
  await agent.run({ prompt: 'go' })
  return { provider, session, after }
}

/** The thinking budgets of runs that take so many turns each. */
async function budgets(behavior: Behavior, ...runs: number[]) {
  const provider = scripted(...runs.flatMap((turns): Step[] => [...calling('noop', turns - 1), 'done']))
  const noop: ToolDef = tool('noop', () => 'ok')
  const agent = createAgent({ provider, tools: { noop }, behavior })
  for (const _ of runs) await agent.run({ prompt: 'go', thinking: 'high' })
  return provider.requests.map(({ thinkingBudget }) => thinkingBudget)
}

const calling = (name: string, times: number): Step[] => Array.from({ length: times }, (_, i) => [call(`c${i}`, name)])
