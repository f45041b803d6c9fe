import { describe, expect, test } from 'vitest'
import type { HookContexts } from '../../src/core/hook-map.ts'
import type { ModelRequest, Provider } from '../../src/core/provider.ts'
import type { Extension } from '../../src/core/run.ts'
import { createAgent } from '../../src/create-agent.ts'
import { call, expectNoCacheBreaks, scripted, tool } from '../../src/testing/index.ts'

type Broken = HookContexts['cache:break']

const noop = tool('noop', () => 'done')
const calls = (n: number) => Array.from({ length: n }, (_, i) => [call(`c${i}`, 'noop', { i })])

/** A service that caches prompts the way services do, segment by segment, and bills what it has to read anew. */
function caching(inner: Provider): Provider & { readonly misses: number[] } {
  const misses: number[] = []
  let last: string[] = []
  const segmentsOf = ({ model, tools, system, thinking, thinkingBudget, messages }: ModelRequest): string[] => [
    `${model} ${JSON.stringify(tools)}`,
    system,
    `${thinking} ${thinkingBudget}`,
    ...messages.map(({ content }) => JSON.stringify(content)),
  ]
  const tokens = (segments: readonly string[]): number => segments.join('').length
  return {
    ...inner,
    misses,
    async *stream(request, signal) {
      const segments = segmentsOf(request)
      const same = segments.findIndex((segment, i) => segment !== last[i])
      const kept = tokens(segments.slice(0, same))
      if (last.length > 0 && last.some((segment, i) => segment !== segments[i])) misses.push(tokens(last) - kept)
      last = segments
      const usage = { input: 0, output: 1, cacheRead: kept, cacheCreation: tokens(segments) - kept }
      for await (const event of inner.stream(request, signal))
        yield event.type === 'reply' ? { ...event, usage } : event
    },
  }
}

function watched(options: Parameters<typeof createAgent>[0]): {
  agent: ReturnType<typeof createAgent>
  breaks: Broken[]
} {
  const agent = createAgent(options)
  const breaks: Broken[] = []
  agent.hooks.hook('cache:break', (broken) => void breaks.push(broken))
  return { agent, breaks }
}

describe('a run that only grows', () => {
  test('breaks no cache over a hundred turns with steering, parallel calls and a follow-up', async () => {
    const provider = scripted(...calls(100), 'one', 'two')
    const agent = createAgent({ provider, system: 'Be kind.', tools: { noop } })
    const check = expectNoCacheBreaks(agent)
    agent.hooks.hook('turn:after', ({ turn }) => {
      if (turn === 40) void agent.steer('faster')
      if (turn === 60) void agent.followUp('and then?')
    })
    await agent.run({ prompt: 'go' })
    await agent.run({ prompt: 'again', hooks: { 'context:transform': () => {} } }).catch(() => {})
    expect(provider.requests.length).toBeGreaterThan(100)
    check()
  })

  test('a child is a conversation of its own', async () => {
    const { createSpawnTool } = await import('../../src/tools/spawn.ts')
    const provider = scripted([call('s', 'spawn', { task: 'look' })], 'found', 'thanks')
    const { agent, breaks } = watched({ provider, tools: { spawn: createSpawnTool(), noop } })
    await agent.run({ prompt: 'go' })
    expect(breaks).toEqual([])
  })
})

describe('every break has its cause', () => {
  const causes: Record<string, () => Promise<Broken[]>> = {
    async 'model: model switch: script-1 → other'() {
      const { agent, breaks } = watched({ provider: scripted('a', 'b') })
      await agent.run({ prompt: '1' })
      await agent.run({ prompt: '2', model: 'other' })
      return breaks
    },
    async 'tools: tool added: late'() {
      const { agent, breaks } = watched({ provider: scripted('a', 'b') })
      await agent.run({ prompt: '1' })
      await agent.run({ prompt: '2', tools: { late: tool('late', () => '') } })
      return breaks
    },
    async 'tools: tool removed: noop'() {
      const { agent, breaks } = watched({ provider: scripted('a', 'b'), tools: { noop } })
      await agent.run({ prompt: '1' })
      await agent.run({ prompt: '2', tools: {} })
      return breaks
    },
    async 'tools: tool changed: noop'() {
      const { agent, breaks } = watched({ provider: scripted('a', 'b'), tools: { noop } })
      await agent.run({ prompt: '1' })
      const other = { ...noop, spec: { ...noop.spec, description: 'Something else.' } }
      await agent.run({ prompt: '2', tools: { noop: other } })
      return breaks
    },
    async 'tools: tools in another order'() {
      const other = tool('other', () => '')
      const { agent, breaks } = watched({ provider: scripted('a', 'b'), tools: { noop, other } })
      await agent.run({ prompt: '1' })
      await agent.run({ prompt: '2', tools: { other, noop } })
      return breaks
    },
    async 'system: system section "run" added'() {
      const { agent, breaks } = watched({ provider: scripted('a', 'b'), system: 'Be kind.' })
      await agent.run({ prompt: '1' })
      await agent.run({ prompt: '2', system: 'Be quick.' })
      return breaks
    },
    async 'system: system section "date" changed'() {
      let day = 1
      const dated: Extension = { name: 'date', start: (run) => run.system.set('date', `Day ${day++}.`) }
      const { agent, breaks } = watched({ provider: scripted('a', 'b'), extensions: [dated] })
      await agent.run({ prompt: '1' })
      await agent.run({ prompt: '2' })
      return breaks
    },
    async 'system: system:transform'() {
      const { agent, breaks } = watched({ provider: scripted('a', 'b'), system: 'Be kind.' })
      await agent.run({ prompt: '1' })
      const shout = (ctx: { system: string }) => void (ctx.system = ctx.system.toUpperCase())
      await agent.run({ prompt: '2', hooks: { 'system:transform': shout } })
      return breaks
    },
    async 'settings: thinking: low 4096 → high 32768'() {
      const { agent, breaks } = watched({ provider: scripted('a', 'b') })
      await agent.run({ prompt: '1', thinking: 'low' })
      await agent.run({ prompt: '2', thinking: 'high' })
      return breaks
    },
    async 'turns: context:transform'() {
      const { agent, breaks } = watched({ provider: scripted('a', 'b') })
      await agent.run({ prompt: '1' })
      await agent.run({ prompt: '2', hooks: { 'context:transform': ({ messages }) => void messages.shift() } })
      return breaks
    },
    async 'turns: rewind'() {
      const { agent, breaks } = watched({ provider: scripted('a', 'b') })
      await agent.run({ prompt: '1' })
      await agent.reset()
      await agent.run({ prompt: '2' })
      return breaks
    },
    async 'turns: compaction'() {
      const { agent, breaks } = watched({ provider: scripted('a', 'b') })
      await agent.run({ prompt: '1' })
      const summary = [{ type: 'text' as const, text: 'They said hello.' }]
      await agent.log.append({ type: 'compaction', toSeq: agent.log.head, summary })
      await agent.run({ prompt: '2' })
      return breaks
    },
    async 'turns: context edit'() {
      const { agent, breaks } = watched({ provider: scripted('a', 'b') })
      await agent.run({ prompt: '1' })
      await agent.log.append({
        type: 'context_edit',
        turnId: agent.turns[0]!.id,
        block: 0,
        replacement: { type: 'text', text: '(hidden)' },
      })
      await agent.run({ prompt: '2' })
      return breaks
    },
    async 'turns: compaction of older results'() {
      const big = tool('big', () => 'x'.repeat(400))
      const steps = [1, 2, 3].map((i) => [call(`c${i}`, 'big', { i })])
      const { agent, breaks } = watched({
        provider: scripted(...steps, 'done'),
        tools: { big },
        behavior: { compactStrategy: 'tail', compactThreshold: 500, compactKeepTurns: 1 },
      })
      await agent.run({ prompt: 'go' })
      return breaks.slice(0, 1)
    },
  }

  test.each(Object.entries(causes))('%s', async (name, story) => {
    const breaks = await story()
    expect(breaks.map(({ segment, cause }) => `${segment}: ${cause}`)).toEqual([name])
  })

  test('the tokens that are lost are those the service bills again, within one percent', async () => {
    const filler = 'x'.repeat(300)
    const say = tool('say', () => filler)
    const steps = Array.from({ length: 30 }, (_, i) => [call(`c${i}`, 'say', { i })])
    const service = caching(scripted(...steps, 'one', 'two', 'three', 'four'))
    const { agent, breaks } = watched({ provider: service, system: filler, tools: { say } })
    await agent.run({ prompt: filler })
    await agent.run({ prompt: '2', system: 'More.' })
    await agent.run({ prompt: '3', thinking: 'low' })
    await agent.run({ prompt: '4', thinking: 'low', tools: { say, noop } })
    expect(breaks).toHaveLength(3)
    for (const [i, { lostTokens = 0 }] of breaks.entries())
      expect(Math.abs(lostTokens - service.misses[i]!) / service.misses[i]!).toBeLessThan(0.01)
  })
})

test('expectNoCacheBreaks fails with each break and its cause, and lets pass what is expected', async () => {
  const agent = createAgent({ provider: scripted('a', 'b', 'c') })
  const check = expectNoCacheBreaks(agent)
  const lenient = expectNoCacheBreaks(agent, { except: ({ segment }) => segment === 'model' })
  await agent.run({ prompt: '1' })
  check()
  await agent.run({ prompt: '2', model: 'other' })
  expect(check).toThrow(
    "the prompt's beginning changed, so its cache was lost:\n  turn 1, model: model switch: script-1 → other",
  )
  lenient()
  expect(check.breaks).toHaveLength(1)
})
