import { describe, expect, test } from 'vitest'
import type { ModelReply, Provider } from '../../src/core/provider.ts'
import type { SessionStore } from '../../src/core/store.ts'
import type { ToolDef } from '../../src/core/tool.ts'
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  createSession,
  createSpawnTool,
  type SessionContentBlock,
} from '../../src/index.ts'
import { call, memoryExecution, ReplayError, record, replay, scripted, tool } from '../../src/testing/index.ts'

type Borders = Pick<AgentOptions, 'provider' | 'tools' | 'clock' | 'newId'>

const steps = 200
const system = 'You are careful.\nYou answer in one line.\nYou never guess.'

/** Different every time: a model and tools that take as long as they like, with errors, retries and children. */
function wildProvider(): Provider {
  let asked = 0
  return {
    meta: { name: 'wild', defaultModel: 'wild-1', capabilities: { structuredOutput: (model) => model === 'wild-1' } },
    costOf: (_, { output }) => output / 1000,
    classifyError: () => ({ kind: 'provider_error', providerCode: 'overloaded', message: 'it is overloaded' }),
    async *stream({ messages, sessionId = '' }) {
      await sometime()
      const isChild = sessionId.includes('/')
      if (isChild) {
        const isBegun = messages.length > 1
        yield* saying(isBegun ? `child done ${Math.random()}` : [call(`c${Math.random()}`, 'look', { at: 'child' })])
        return
      }
      const n = ++asked
      yield { type: 'start' }
      if (n === 20) throw Object.assign(new Error('529'), { usage: { input: 3, output: 1 } })
      if (n === 30) {
        yield { type: 'text', delta: 'never mind' }
        yield { type: 'retry', attempt: 2, reason: 'the line broke', delayMs: 5 }
      }
      if (n === 50) yield* saying([call('ask', 'ask', { question: 'May I?' })])
      else if (n === steps) yield* saying('All done.')
      else if (n % 25 === 0)
        yield* saying([call(`a${n}`, 'spawn', { task: `A ${n}` }), call(`b${n}`, 'spawn', { task: `B ${n}` })])
      else if (n % 3 === 0)
        yield* saying([call(`x${n}`, 'look', { n }), call(`y${n}`, 'look', { n }), call(`z${n}`, 'nest')])
      else yield* saying([call(`w${n}`, n % 7 === 0 ? 'fail' : 'look', { n })])
    },
  }
}

async function* saying(
  what: string | SessionContentBlock[],
): AsyncGenerator<ModelReply | { type: 'text'; delta: string }> {
  if (typeof what === 'string') for (const delta of what.match(/.{1,5}/g) ?? []) yield { type: 'text', delta }
  await sometime()
  const content: SessionContentBlock[] = typeof what === 'string' ? [{ type: 'text', text: what }] : what
  const usage = { input: 100, output: Math.floor(Math.random() * 50) }
  yield { type: 'reply', content, usage, stop: typeof what === 'string' ? 'end' : 'tool_use' }
}

async function sometime(): Promise<void> {
  for (let i = Math.random() * 4; i > 0; i--) await new Promise((resolve) => setImmediate(resolve))
}

function wildTools(): Record<string, ToolDef> & { executed: { count: number } } {
  const executed = { count: 0 }
  let isAllowed = false
  const together = { isConcurrencySafe: true, replay: 'keyed' } as const
  const tools = {
    look: tool(
      'look',
      async (input, ctx) => {
        executed.count++
        await sometime()
        await ctx.log.append({ type: 'state', owner: 'look', value: { saw: Math.random() } })
        ctx.progress('half way')
        await sometime()
        return { output: `saw ${Math.random()}`, details: { input } }
      },
      together,
    ),
    nest: tool(
      'nest',
      async (_, ctx) => {
        executed.count++
        const both = await Promise.all([ctx.call('look', { nested: 1 }), ctx.call('look', { nested: 2 })])
        return both.map(({ output }) => output).join(' and ')
      },
      together,
    ),
    fail: tool('fail', async () => {
      executed.count++
      await sometime()
      throw new RangeError(`failed with ${Math.random()}`)
    }),
    ask: tool('ask', async (_, ctx) => {
      executed.count++
      await sometime()
      if (!isAllowed) {
        isAllowed = true
        ctx.suspend('question')
      }
      return 'yes'
    }),
    spawn: createSpawnTool() as ToolDef,
  }
  return Object.defineProperty(tools, 'executed', { value: executed, enumerable: false }) as never
}

/** What a user does: prompts, steers, tries again after a failure, answers a question. */
async function userStory(borders: Borders, prompt = system): Promise<string> {
  const { clock, newId } = borders
  const store = createMemoryStore({ ...(clock && { clock }) })
  const session = await createSession({ store, id: 's', ...(clock && { clock }), ...(newId && { newId }) })
  const agent = createAgent({
    ...borders,
    session,
    system: prompt,
    execution: memoryExecution({}),
    behavior: { maxTurns: 1000 },
  })
  let turns = 0
  agent.hooks.hook('turn:after', () => {
    if (++turns % 40 === 0 && turns < 180) void agent.steer(`Steering after ${turns} turns.`)
  })
  const results: string[] = []
  for (const run of [{ prompt: 'Go.' }, {}, {}]) {
    const stats = await agent.run(run).catch((error) => {
      if (error instanceof ReplayError) throw error
      results.push(`failed: ${error.message}`)
    })
    if (stats) results.push(`${stats.status}, ${stats.stopReason}: ${stats.text}`)
  }
  await agent.destroy()
  expect(results).toEqual([
    'failed: Provider "wild" failed: it is overloaded',
    'suspended, question: ',
    'completed, end: All done.',
  ])
  return logsOf(store)
}

async function logsOf(store: SessionStore): Promise<string> {
  const sessions = (await store.list()).sessions.map(({ id }) => id).sort()
  return JSON.stringify(await Promise.all(sessions.map(async (id) => [id, await store.read(id)])))
}

/** The first difference alone: the whole logs are too long to be shown. */
function expectSame(now: string, recorded: string): void {
  if (now === recorded) return
  const at = [...recorded].findIndex((char, i) => char !== now[i])
  expect(now.slice(at - 300, at + 200)).toBe(recorded.slice(at - 300, at + 200))
}

describe('a recorded run', () => {
  test(`of ${steps} steps plays back with the same logs, byte for byte, as often as one likes`, async () => {
    const tape = record()
    const tools = wildTools()
    const recorded = await userStory({
      provider: tape.provider(wildProvider()),
      tools: tape.tools(tools),
      clock: tape.clock(),
      newId: tape.ids(),
    })
    const cassette = tape.cassette()
    expect(JSON.parse(recorded).length).toBe(13) // six times two children
    expect(recorded).toContain('Steering after 160 turns.')
    expect(recorded).toContain('"outcome":"error"')
    const executed = tools.executed.count

    for (const _ of [1, 2]) {
      const played = replay(cassette)
      const again = await userStory({
        provider: played.provider(),
        tools: played.tools(tools),
        clock: played.clock(),
        newId: played.ids(),
      })
      expectSame(again, recorded)
      played.done()
    }
    expect(tools.executed.count).toBe(executed)
    expect(replay(cassette).steps).toBe(steps + 24)

    const changed = replay(cassette)
    const other = userStory(
      { provider: changed.provider(), tools: changed.tools(tools), clock: changed.clock(), newId: changed.ids() },
      system.replace('one line', 'two lines'),
    )
    await expect(other).rejects.toMatchObject({ name: 'ReplayError', step: 1, field: 'system', line: 2 })
    await expect(other).rejects.toThrow('-You answer in one line.\n+You answer in two lines.')
  })

  test('goes on with another model after as many steps as one wants to keep', async () => {
    const tape = record()
    const look = tool('look', () => 'red')
    const first = createAgent({
      provider: tape.provider(scripted([call('1', 'look')], [call('2', 'look')], 'It is red.')),
      tools: tape.tools({ look }),
      clock: tape.clock(),
      newId: tape.ids(),
    })
    await first.run({ prompt: 'Which colour?' })

    const other = scripted([call('3', 'look')], 'It is blue now.')
    const fork = replay(tape.cassette(), { until: 2, goOnWith: other })
    const agent = createAgent({
      provider: fork.provider(),
      tools: fork.tools({ look: tool('look', () => 'blue') }),
      clock: fork.clock(),
      newId: fork.ids(),
    })
    expect((await agent.run({ prompt: 'Which colour?' })).text).toBe('It is blue now.')
    const results = agent.turns.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result'))
    expect(results).toMatchObject([{ output: 'red' }, { output: 'red' }, { output: 'blue' }])
    expect(agent.turns.slice(0, 4)).toEqual(first.turns.slice(0, 4))
    fork.done()
  })
})
