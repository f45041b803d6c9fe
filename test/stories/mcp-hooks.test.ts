import { describe, expect, test } from 'vitest'
import type { McpToolHookContext } from '../../src/core/feature-hooks.ts'
import { hookNames } from '../../src/core/hook-map.ts'
import type { AgentHookMap, AgentOptions, ToolDef } from '../../src/index.ts'
import { AgentAbortedError, createAgent, createSpawnTool } from '../../src/index.ts'
import { call, fakeClock, type Step, scripted, texts, tool } from '../../src/testing/index.ts'

describe('the hooks of an MCP tool', () => {
  test('A095 nest inside execution, around the remote call', async () => {
    const { agent, log } = client()
    await agent.run({ prompt: 'go' })
    expect(log).toEqual([
      'tool:gate',
      'tool:before',
      'mcp:tool:gate',
      'mcp:tool:before',
      'remote {"q":"x"}',
      'mcp:tool:transform',
      'mcp:tool:after',
      'tool:transform',
      'tool:after',
    ])
  })

  test('A095 do not fire for a tool that is no MCP tool', async () => {
    const tools = { local: tool('local', () => 'here') }
    const { agent, log } = client({}, { tools, provider: scripted([call('c1', 'local')], 'done') })
    await agent.run({ prompt: 'go' })
    expect(log).toEqual(['tool:gate', 'tool:before', 'tool:transform', 'tool:after'])
  })

  test('E16 a wrapper around tools has them inside, and knows the server', async () => {
    const { agent, log } = client()
    agent.hooks.around('tool', async ({ origin, mcp }, next) => {
      log.push(`enter ${origin.layer} ${mcp?.server}.${mcp?.tool}`)
      await next()
      log.push('leave')
    })
    await agent.run({ prompt: 'go' })
    const inside = log.slice(log.indexOf('enter mcp docs.find') + 1, log.indexOf('leave'))
    expect(inside).toContain('remote {"q":"x"}')
    expect(inside).not.toContain('tool:gate')
  })

  test('A095 know the call and where it goes', async () => {
    const seen: unknown[] = []
    const note = ({ turnId, callId, name, displayName, input, server, tool }: McpToolHookContext) =>
      void seen.push({ turnId, callId, name, displayName, input, server, tool })
    const { agent } = client(
      { 'mcp:tool:gate': note, 'mcp:tool:before': note, 'mcp:tool:transform': note, 'mcp:tool:after': note },
      { toolAliases: { mcp_docs_find: 'Find' }, provider: scripted([call('c1', 'Find', { q: 'x' })], 'done') },
    )
    await agent.run({ prompt: 'go' })
    const turnId = agent.turns[1]?.id
    const names = { name: 'mcp_docs_find', displayName: 'Find', server: 'docs', tool: 'find' }
    expect(seen).toEqual(Array(4).fill({ turnId, callId: 'c1', input: { q: 'x' }, ...names }))
  })

  test('A095 mcp:tool:transform changes what the rest of the pipeline sees, and sizes are before and after', async () => {
    const seen: unknown[] = []
    const { agent, answers } = client({
      'mcp:tool:transform': (ctx) => {
        seen.push(ctx.outputBytes)
        ctx.result = 'cut'
      },
      'mcp:tool:after': ({ result, outputBytes }) => void seen.push(result, outputBytes),
      'tool:transform': ({ result, outputBytes }) => void seen.push(result, outputBytes),
    })
    await agent.run({ prompt: 'go' })
    expect(seen).toEqual(['found x'.length, 'cut', 3, 'cut', 3])
    expect(answers()).toEqual(['user: ←cut'])
  })

  test('A095 a remote failure is a tool error, and passes through transform and after', async () => {
    const remote = () => Promise.reject(new Error('connection lost'))
    const { agent, log, answers } = client({}, {}, remote)
    await agent.run({ prompt: 'go' })
    expect(log).toEqual([
      'tool:gate',
      'tool:before',
      'mcp:tool:gate',
      'mcp:tool:before',
      'tool:error',
      'tool:transform',
      'tool:after',
    ])
    expect(answers()).toEqual(['user: ←Tool error: connection lost'])
  })

  test('a failing mcp:tool:transform withholds the output', async () => {
    const { agent, answers } = client({
      'mcp:tool:transform': () => Promise.reject(new Error('bad pattern')),
      'hook:error': () => {},
    })
    await agent.run({ prompt: 'go' })
    const text = 'the output was withheld because a handler failed on it: bad pattern'
    expect(answers()).toEqual([`user: ←Tool error: ${text}`])
  })
})

describe('mcp:tool:gate', () => {
  test('A096 can block: the remote is not called, and the text goes on through the pipeline', async () => {
    const seen: unknown[] = []
    const { agent, log } = client({
      'mcp:tool:gate': (ctx) => void Object.assign(ctx, { block: true, reason: `not on ${ctx.server}` }),
      'tool:transform': ({ result, isError }) => void seen.push(result, isError),
    })
    await agent.run({ prompt: 'go' })
    expect(seen).toEqual(['Blocked: not on docs', true])
    expect(log).toEqual(['tool:gate', 'tool:before', 'mcp:tool:gate', 'tool:transform', 'tool:after'])
    const results = agent.turns[2]?.content
    expect(results).toEqual([{ type: 'tool_result', callId: 'c1', output: 'Blocked: not on docs', isError: true }])
  })

  test('A096 can put a result in place: the remote is not called', async () => {
    const { agent, log, answers } = client({
      'mcp:tool:gate': (ctx) => void Object.assign(ctx, { result: 'cached' }),
    })
    await agent.run({ prompt: 'go' })
    expect(log.filter((line) => line.startsWith('remote'))).toEqual([])
    expect(answers()).toEqual(['user: ←cached'])
  })

  test('A096 block beats result', async () => {
    const both = { block: true, reason: 'no', result: 'cached' }
    const { agent, answers } = client({ 'mcp:tool:gate': (ctx) => void Object.assign(ctx, both) })
    await agent.run({ prompt: 'go' })
    expect(answers()).toEqual(['user: ←Blocked: no'])
  })

  test('A096 a handler that throws blocks', async () => {
    const { agent, log, answers } = client({
      'mcp:tool:gate': () => Promise.reject(new Error('no policy')),
      'hook:error': () => {},
    })
    await agent.run({ prompt: 'go' })
    expect(log.filter((line) => line.startsWith('remote'))).toEqual([])
    expect(answers()).toEqual(['user: ←Blocked: a gate failed: no policy'])
  })

  test('A055 a parent blocks a call of its child through child:mcp:tool:gate', async () => {
    const seen: unknown[] = []
    const next: Step = ({ messages }) => {
      if (messages.length > 1) return 'done'
      const isChild = texts(messages)[0] === 'user: look'
      return [isChild ? call('k1', 'mcp_docs_find', { q: 'x' }) : call('c1', 'spawn', { task: 'look' })]
    }
    const provider = scripted(next, next, next, next)
    const { agent, log } = client(
      {
        'child:mcp:tool:gate': (ctx) => {
          seen.push([ctx.depth, ctx.server, ctx.tool])
          ctx.block = true
        },
      },
      { provider, tools: { spawn: createSpawnTool() } },
    )
    await agent.run({ prompt: 'go' })
    expect(seen).toEqual([[1, 'docs', 'find']])
    expect(log.filter((line) => line.startsWith('remote'))).toEqual([])
  })

  test.each(['mcp:tool:gate', 'mcp:tool:before'])('a handler of %s cannot change what is sent', async (hook) => {
    const tamper = ({ input }: McpToolHookContext) => void Object.assign(input, { q: 'other' })
    const { agent, log } = client({ [hook]: tamper, 'hook:error': () => {} })
    await agent.run({ prompt: 'go' })
    expect(log).not.toContain('remote {"q":"other"}')
  })

  test('has no time limit: a person may be thinking for an hour', async () => {
    const clock = fakeClock()
    const asked = Promise.withResolvers<void>()
    const { agent, answers } = client({ 'mcp:tool:gate': () => asked.promise }, { clock })
    const running = agent.run({ prompt: 'go' })
    await clock.advance(3_600_000)
    asked.resolve()
    await running
    expect(answers()).toEqual(['user: ←found x'])
  })

  test('an answer that comes after the run was aborted starts nothing', async () => {
    const asked = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<void>()
    const { agent, log } = client({
      'mcp:tool:gate': () => {
        asked.resolve()
        return answer.promise
      },
    })
    const running = agent.run({ prompt: 'go' })
    await asked.promise
    agent.abort()
    await expect(running).rejects.toThrow(AgentAbortedError)
    answer.resolve()
    await new Promise((resolve) => setTimeout(resolve, 0))
    expect(log.filter((line) => line.startsWith('remote'))).toEqual([])
  })
})

/** An agent with one MCP server `docs` and its tool `find`, which a model calls once. `log` has what a call fires. */
function client(hooks: AgentHookMap = {}, more: Partial<AgentOptions> = {}, remote?: ToolDef['execute']) {
  const log: string[] = []
  const found: ToolDef['execute'] = (input) => {
    log.push(`remote ${JSON.stringify(input)}`)
    return `found ${input.q}`
  }
  const find = tool('mcp_docs_find', remote ?? found, { mcp: { server: 'docs', tool: 'find' } })
  const provider = scripted([call('c1', 'mcp_docs_find', { q: 'x' })], 'done')
  const agent = createAgent({
    provider,
    hooks,
    mcpServers: [{ name: 'docs', transport: 'stdio', command: 'docs' }],
    mcpConnector: async () => ({ tools: { find }, close: async () => {} }),
    ...more,
  })
  for (const name of hookNames) if (/^(mcp:)?tool:/.test(name)) agent.hooks.hook(name, () => void log.push(name))
  const answers = () => texts(agent.turns).filter((text) => text.startsWith('user: ←'))
  return { agent, log, answers }
}
