import { describe, expect, test } from 'vitest'
import type { AgentOptions, Preset } from '../../src/index.ts'
import { AgentProviderError, createAgent, createSession, createSpawnTool } from '../../src/index.ts'
import { call, type Step, scripted, texts, tool } from '../../src/testing/index.ts'

describe('what a parent is told about its children', () => {
  test('A055 child:tool:gate is the very object the child waits on, so the parent can block', async () => {
    const seen: object[] = []
    const { agent, ran, answers } = family({ hooks: { 'tool:gate': (ctx) => void seen.push(ctx) } })
    agent.hooks.hook('child:tool:gate', (ctx) => {
      seen.push(ctx)
      ctx.block = true
      ctx.reason = `no ${ctx.name} for children`
    })
    await agent.run({ prompt: 'go' })
    expect(seen.length).toBe(2)
    expect(seen[1]).toBe(seen[0])
    expect(ran).toEqual([])
    expect(answers('look')).toEqual(['user: ←Blocked: no lookup for children'])
  })

  test('A055 the parent can put a result of its own in place of the call', async () => {
    const { agent, ran, answers } = family()
    agent.hooks.hook('child:tool:gate', async (ctx) => {
      await Promise.resolve()
      ctx.result = 'known already'
    })
    await agent.run({ prompt: 'go' })
    expect(ran).toEqual([])
    expect(answers('look')).toEqual(['user: ←known already'])
  })

  test('A055 a parent whose handler fails keeps the gate of its child shut', async () => {
    const { agent, ran, answers } = family()
    agent.hooks.hook('hook:error', () => {})
    agent.hooks.hook('child:tool:gate', () => Promise.reject(new Error('no policy')))
    await agent.run({ prompt: 'go' })
    expect(ran).toEqual([])
    expect(answers('look')).toEqual(['user: ←Blocked: a gate failed: no policy'])
  })

  test('A055 the gate of a grandchild reaches the top too', async () => {
    const { agent, ran, answers } = family({}, { look: [[call('s2', 'spawn', { task: 'leaf' })], 'looked'] })
    agent.hooks.hook('child:tool:gate', (ctx) => {
      if (ctx.depth === 2) Object.assign(ctx, { block: true, reason: 'too deep' })
    })
    await agent.run({ prompt: 'go' })
    expect(ran).toEqual([])
    expect(answers('leaf')).toEqual(['user: ←Blocked: too deep'])
  })

  test('A056 child events carry childId and depth, over two levels', async () => {
    const busy = (...calls: ReturnType<typeof call>[]) => ({ thinking: 'hm', text: 'well', calls })
    const session = await createSession({ id: 'root' })
    const { agent } = family(
      {},
      {
        look: [busy(call('s2', 'spawn', { task: 'leaf' }), call('f1', 'fail')), 'looked'],
        leaf: [busy(call('l2', 'lookup'), call('f2', 'fail')), 'ended'],
      },
      { session },
    )
    const heard = new Set<string>()
    for (const name of childHooks)
      agent.hooks.hook(name, ({ childId, depth }) => void heard.add(`${name} ${depth} ${childId}`))
    await agent.run({ prompt: 'go' })
    const everyone = childHooks.flatMap((name) => [`${name} 1 root/s1`, `${name} 2 root/s1/s2`])
    expect(heard).toEqual(new Set(everyone))
  })

  test('A056 the events of the parent itself carry neither', async () => {
    const { agent } = family()
    const heard: string[][] = []
    agent.hooks.hook('tool:before', (ctx) => void heard.push(Object.keys(ctx)))
    await agent.run({ prompt: 'go' })
    expect(heard.length).toBe(1)
    expect(heard[0]).not.toContain('childId')
    expect(heard[0]).not.toContain('depth')
  })

  test('A057 spawn:before comes before the child does anything, spawn:complete after, with its stats', async () => {
    const { agent } = family()
    const log: unknown[] = []
    agent.hooks.hook('spawn:before', ({ log: _, hooks: __, ...ctx }) => void log.push(['before', ctx]))
    agent.hooks.hook('child:turn:after', () => void log.push('turn'))
    agent.hooks.hook('spawn:complete', ({ stats, ...ctx }) => void log.push(['complete', ctx, stats.text, stats.turns]))
    agent.hooks.hook('spawn:error', (ctx) => void log.push(['error', ctx]))
    const { runId } = await agent.run({ prompt: 'go' })
    const about = { childId: `${runId}/s1`, depth: 1, callId: 's1' }
    expect(log).toEqual([['before', { ...about, task: 'look' }], 'turn', 'turn', ['complete', about, 'looked', 2]])
  })

  test('A057 spawn:error tells of a child that failed, and the parent reads it as a result', async () => {
    const { agent, answers } = family({}, { look: [new Error('overloaded')] })
    const log: unknown[] = []
    agent.hooks.hook('spawn:before', ({ childId }) => void log.push(['before', childId]))
    agent.hooks.hook('spawn:complete', ({ childId }) => void log.push(['complete', childId]))
    agent.hooks.hook('spawn:error', (ctx) => void log.push(['error', ctx]))
    const { runId, text } = await agent.run({ prompt: 'go' })
    const childId = `${runId}/s1`
    const error = expect.any(AgentProviderError)
    expect(log).toEqual([
      ['before', childId],
      ['error', { childId, depth: 1, callId: 's1', error }],
    ])
    expect(answers('go')).toEqual(['user: ←Tool error: Provider "scripted" failed: overloaded'])
    expect(text).toBe('done')
  })
})

const childHooks = [
  'child:stream:text',
  'child:stream:thinking',
  'child:stream:end',
  'child:tool:gate',
  'child:tool:before',
  'child:tool:after',
  'child:tool:error',
  'child:turn:after',
] as const

/**
 * A parent that is told `go` spawns a child with the task `look`, which looks something up. What the one model behind
 * all of them says depends on the task at the top of the request.
 */
function family(preset: Preset = {}, lines: Record<string, Step[]> = {}, more: Partial<AgentOptions> = {}) {
  const script: Record<string, Step[]> = {
    go: [[call('s1', 'spawn', { task: 'look' })], 'done'],
    look: [[call('l1', 'lookup')], 'looked'],
    leaf: [[call('l2', 'lookup')], 'ended'],
    ...lines,
  }
  const next: Step = ({ messages }) => script[taskOf(messages)]?.shift() ?? new Error('nothing left to say')
  const provider = scripted(...Array.from({ length: 12 }, () => next))
  const ran: string[] = []
  const tools = {
    spawn: createSpawnTool({ preset }),
    fail: tool('fail', () => Promise.reject(new Error('no'))),
    lookup: tool('lookup', (_, { callId }) => {
      ran.push(callId)
      return 'found'
    }),
  }
  const agent = createAgent({ provider, tools, ...more })
  /** The results that were sent back for a task. */
  const answers = (task: string) => {
    const last = provider.requests.findLast(({ messages }) => taskOf(messages) === task)
    return texts(last?.messages ?? []).filter((text) => text.startsWith('user: ←'))
  }
  return { agent, ran, answers }
}

const taskOf = (messages: Parameters<typeof texts>[0]): string => texts(messages.slice(0, 1))[0]!.replace('user: ', '')

test('a child with an authority of its own begins its runs with the state entries of the extensions of its parent', async () => {
  const runs: string[] = []
  const extension: NonNullable<AgentOptions['extensions']>[number] = {
    name: 'first',
    stateEntries({ log }) {
      runs.push(log.id)
      return []
    },
  }
  const spawn = createSpawnTool({ presets: { own: { authority: { mode: 'yolo' } } } })
  const provider = scripted([call('1', 'spawn', { task: 'help', preset: 'own' })], 'b', 'a')
  await createAgent({ provider, tools: { spawn }, extensions: [extension] }).run({ prompt: 'go' })
  expect(runs).toHaveLength(2)
})
