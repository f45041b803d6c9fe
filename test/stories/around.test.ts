import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, test } from 'vitest'
import type { AroundContexts, AroundHandler, AroundKind } from '../../src/core/around.ts'
import { messageOf } from '../../src/core/errors.ts'
import type { Extension } from '../../src/core/run.ts'
import type { ToolDef } from '../../src/core/tool.ts'
import { createAgent } from '../../src/create-agent.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { createSession } from '../../src/sessions/session.ts'
import { call, memoryExecution, type Step, scripted, tool } from '../../src/testing/index.ts'
import { createSpawnTool } from '../../src/tools/spawn.ts'

const place = new AsyncLocalStorage<string>()
const here = (): string => place.getStore() ?? 'outside'
/** Adds its name to where it was called from. */
const within =
  (name: string) =>
  (_: unknown, next: () => Promise<unknown>): Promise<unknown> =>
    place.run(`${here()} > ${name}`, next)

const toolsOf = (...list: ToolDef[]): Record<string, ToolDef> =>
  Object.fromEntries(list.map((one) => [one.spec.name, one]))
function agentOf(steps: readonly Step[], ...tools: ToolDef[]) {
  return createAgent({
    name: 'main',
    provider: scripted(...steps),
    tools: toolsOf(...tools),
    execution: memoryExecution(),
  })
}
const withAll = (agent: ReturnType<typeof agentOf>): void => {
  for (const kind of ['run', 'model', 'tool'] as const) agent.hooks.around(kind, within(kind))
}

describe('E16 what a wrapper sets', () => {
  test('E16 is seen by the tool, the provider while its stream is read, and the hooks of both', async () => {
    const seen: Record<string, string> = {}
    const look = tool('look', async () => {
      await new Promise(setImmediate)
      seen.execute = here()
      return 'seen'
    })
    const first: Step = () => {
      seen.request = here()
      return [call('c1', 'look')]
    }
    const agent = agentOf([first, 'a text of several pieces'], look)
    withAll(agent)
    agent.hooks.hook('stream:text', () => void (seen.delta = here()))
    agent.hooks.hook('turn:after', () => void (seen.turnAfter = here()))
    agent.hooks.hook('tool:before', () => void (seen.toolBefore = here()))
    agent.hooks.hook('tool:after', () => void (seen.toolAfter = here()))
    agent.hooks.hook('session:start', () => void (seen.start = here()))
    agent.hooks.hook('agent:done', () => void (seen.done = here()))
    await agent.run({ prompt: 'go' })
    const [run, model, inTool] = ['outside > run', 'outside > run > model', 'outside > run > tool']
    expect(seen).toEqual({
      ...{ start: run, done: run, request: model, delta: model, turnAfter: model },
      ...{ execute: inTool, toolBefore: inTool, toolAfter: inTool },
    })
    expect(here()).toBe('outside')
  })

  test('E16 is seen by the calls of a tool, by a child, and by its model and tools', async () => {
    const seen: string[] = []
    const leaf = tool('leaf', () => void seen.push(here()))
    const outer = tool('outer', async (_, ctx) => (await ctx.call('leaf', {})).output)
    const steps = [[call('c1', 'outer'), call('c2', 'spawn', { task: 'x' })], [call('k1', 'leaf')], 'child', 'parent']
    const agent = agentOf(steps, leaf, outer, createSpawnTool())
    withAll(agent)
    await agent.run({ prompt: 'go' })
    expect(seen).toEqual(['outside > run > tool > tool', 'outside > run > tool > run > tool'])
  })

  test('E16 reaches a tool that is added while the run is under way', async () => {
    const seen: string[] = []
    const late = tool('late', () => void seen.push(here()))
    const lateTools: Extension = {
      name: 'late-tools',
      start: (run, hooks) => void hooks.hook('tool:after', () => void run.tools.replace(late)),
    }
    const agent = createAgent({
      provider: scripted([call('c1', 'look')], [call('c2', 'late')], 'done'),
      tools: { look: tool('look', () => 'seen') },
      execution: memoryExecution(),
      extensions: [lateTools],
    })
    agent.hooks.around('tool', within('tool'))
    await agent.run({ prompt: 'go' })
    expect(seen).toEqual(['outside > tool'])
  })

  test('E16 nests in the order of registration, an extension innermost, until a wrapper is taken back', async () => {
    const seen: string[] = []
    const look = tool('look', () => void seen.push(here()))
    const extension: Extension = {
      name: 'tracing',
      warmup: async ({ hooks }) => void hooks.around('run', within('run')),
      start: (_, hooks) => void hooks.around('tool', within('extension')),
    }
    const agent = createAgent({
      provider: scripted(
        [call('c1', 'look')],
        'done',
        [call('c2', 'spawn', { task: 'x' })],
        [call('k', 'look')],
        'a',
        'b',
      ),
      tools: toolsOf(look, createSpawnTool()),
      execution: memoryExecution(),
      extensions: [extension],
    })
    agent.hooks.around('tool', within('first'))
    const unhook = agent.hooks.around('tool', within('second'))
    await agent.run({ prompt: 'go' })
    unhook()
    await agent.run({ prompt: 'again' })
    expect(seen).toEqual([
      'outside > run > first > second > extension',
      'outside > run > first > extension > run > first > extension', // the call that spawns, then the child's own
    ])
  })
})

test('E16 a wrapper is told what it wraps: the run with its parent and sender, the model call, the tool call', async () => {
  const told: { [Kind in AroundKind]: AroundContexts[Kind][] } = { run: [], model: [], tool: [] }
  const session = await createSession({ store: createMemoryStore(), id: 's' })
  const leaf = tool('leaf', () => 'x')
  const steps = [
    [call('c1', 'spawn', { task: 'x', preset: 'scout' })],
    [call('k1', 'leaf', { n: 1 })],
    'child',
    'parent',
  ]
  const spawning = createSpawnTool({ presets: { scout: {} } })
  const tools = toolsOf(spawning, { ...leaf, origin: { layer: 'global', path: '/tools/leaf' } })
  const agent = createAgent({
    name: 'main',
    provider: scripted(...steps),
    tools,
    session,
    execution: memoryExecution(),
  })
  const note = <Kind extends AroundKind>(kind: Kind): void => {
    const handler: AroundHandler<Kind> = (ctx, next) => {
      told[kind].push(ctx)
      return next()
    }
    agent.hooks.around(kind, handler)
  }
  note('run')
  note('model')
  note('tool')
  await agent.run({ prompt: 'go', meta: { sender: 'ada' } })
  const [main, child] = told.run
  expect(main).toEqual({ runId: expect.any(String), agent: 'main', sessionId: 's', depth: 0, meta: { sender: 'ada' } })
  expect(child).toMatchObject({ agent: 'scout', depth: 1, parent: { session: 's', runId: main!.runId, callId: 'c1' } })
  expect(
    told.model.map(({ run, turn, model, provider, attempt }) => [run.agent, turn, model, provider, attempt]),
  ).toEqual([
    ['main', 1, 'script-1', 'scripted', 1],
    ['scout', 1, 'script-1', 'scripted', 1],
    ['scout', 2, 'script-1', 'scripted', 1],
    ['main', 2, 'script-1', 'scripted', 1],
  ])
  expect(told.tool).toMatchObject([
    { callId: 'c1', name: 'spawn', origin: { layer: 'host' }, turn: 1, attempt: 1, run: { agent: 'main' } },
    { callId: 'k1', input: { n: 1 }, origin: { layer: 'global', path: '/tools/leaf' }, run: { agent: 'scout' } },
  ])
  expect(session.runs).toMatchObject([{ agent: 'main', meta: { sender: 'ada' } }])
})

test('E16 next() gives the outcome, and the attempts of a model call are inside one wrapper', async () => {
  const outcomes: unknown[] = []
  const broken: Step = [
    { type: 'text', delta: 'half' },
    { type: 'retry', attempt: 2, reason: 'overloaded' },
    reply('whole'),
  ]
  const agent = agentOf(
    [[call('c1', 'look')], broken],
    tool('look', () => 'seen'),
  )
  agent.hooks.around('tool', async (_, next) => outcomes.push(await next()))
  agent.hooks.around('model', async (ctx, next) => {
    const { stop, usage } = await next()
    outcomes.push([stop, usage.output, ctx.attempt])
  })
  agent.hooks.around('run', async (_, next) => outcomes.push((await next()).status))
  await agent.run({ prompt: 'go' })
  expect(outcomes).toEqual([
    ['tool_use', expect.any(Number), 1],
    { output: 'seen', isError: false },
    ['end', 2, 2],
    'completed',
  ])
})

function reply(text: string): Extract<Step, readonly unknown[]>[number] & { type: 'reply' } {
  return { type: 'reply', content: [{ type: 'text', text }], usage: { input: 1, output: 2 }, stop: 'end' }
}

describe('E16 a wrapper that does not do its part', () => {
  /** A run with one call, its wrapper, how often the tool ran, what the model read, and what was reported. */
  async function callInside(handler: AroundHandler<'tool'>) {
    let runs = 0
    const reported: string[] = []
    const agent = agentOf(
      [[call('c1', 'look')], 'done'],
      tool('look', () => `run ${++runs}`),
    )
    agent.hooks.hook('hook:error', ({ hook, error }) => void reported.push(`${hook}: ${(error as Error).message}`))
    agent.hooks.around('tool', handler)
    const { status } = await agent.run({ prompt: 'go' })
    const [result] = agent.turns[2]!.content
    return { status, runs, reported, output: result?.type === 'tool_result' && result.output }
  }

  test('E16 by never calling next() is an error that the model reads, and nothing runs', async () => {
    const { output, ...rest } = await callInside(() => 'nothing')
    expect(output).toMatch(/^Tool error: a wrapper around "tool" returned without calling next\(\)/)
    expect(rest).toEqual({ status: 'completed', runs: 0, reported: [] })
  })

  test('E16 by failing before next() is an error that the model reads, and nothing runs', async () => {
    const { output, runs } = await callInside(() => {
      throw new Error('no trace')
    })
    expect([output, runs]).toEqual(['Tool error: a wrapper around "tool" failed before it called next(): no trace', 0])
  })

  test('E16 by calling next() twice runs the work once, and is reported', async () => {
    const { output, runs, reported } = await callInside((_, next) => Promise.allSettled([next(), next()]))
    expect([output, runs]).toEqual(['run 1', 1])
    expect(reported).toEqual([expect.stringMatching(/^around:tool: a wrapper around "tool" called next\(\) twice/)])
  })

  test('E16 by failing after next(), or not waiting for it, leaves the outcome as it is, and is reported', async () => {
    const after = await callInside(async (_, next) => {
      await next()
      throw new Error('no span to end')
    })
    expect(after).toMatchObject({ output: 'run 1', runs: 1, reported: ['around:tool: no span to end'] })
    expect(await callInside((_, next) => void next())).toMatchObject({ output: 'run 1', runs: 1, reported: [] })
  })

  test('E16 around a run is waited for after next(), and its failure there is reported', async () => {
    const agent = agentOf(['done'])
    const told: string[] = []
    agent.hooks.hook('hook:error', ({ hook, error }) => void told.push(`${hook}: ${messageOf(error)}`))
    agent.hooks.around('run', async (_, next) => {
      await next()
      await new Promise(setImmediate)
      told.push('sent')
      throw new Error('the trace was refused')
    })
    await agent.run({ prompt: 'go' })
    expect(told).toEqual(['sent', 'around:run: the trace was refused'])
  })

  test('E16 around a model call or a run makes the run fail with the reason, and its end is told', async () => {
    for (const kind of ['model', 'run'] as const) {
      const agent = agentOf(['never said'])
      const ended: string[] = []
      agent.hooks.hook('agent:done', ({ status }) => void ended.push(status))
      agent.hooks.around(kind, () => {})
      await expect(agent.run({ prompt: 'go' })).rejects.toThrow(
        `a wrapper around "${kind}" returned without calling next()`,
      )
      expect(ended).toEqual(['error'])
    }
  })

  test('E16 by hanging before next() is left behind by an abort, and the call has its answer', async () => {
    const agent = agentOf(
      [[call('c1', 'look')]],
      tool('look', () => 'seen'),
    )
    agent.hooks.around('tool', () => {
      queueMicrotask(() => agent.abort())
      return new Promise(() => {})
    })
    await expect(agent.run({ prompt: 'go' })).rejects.toThrow('aborted')
    expect(agent.turns[2]!.content).toMatchObject([{ type: 'tool_result', callId: 'c1', isError: true }])
  })

  test('E16 by its name or its handler is refused when it is registered', () => {
    const agent = agentOf([])
    expect(() => agent.hooks.around('turn' as 'run', within('x'))).toThrow('"turn"; there are run, model, tool')
    expect(() => agent.hooks.around('run', 'x' as never)).toThrow('must be a function (ctx, next), got string')
  })
})
