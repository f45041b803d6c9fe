import { describe, expect, test } from 'vitest'
import { createMemoryStore, createSession, createSpawnTool } from '../../src/index.ts'
import type { McpConnector } from '../../src/mcp/connections.ts'
import { defineSkill } from '../../src/skills/skill.ts'
import { call, tool } from '../../src/testing/index.ts'
import type { AgentOptions, ToolDef } from '../../src/types.ts'
import { world } from './skills-kit.ts'

const use = (id: string, name: string) => call(id, 'skills_use', { name })
const declaring = (name: string, ...allowedTools: string[]) =>
  defineSkill({ name, description: `Use it for ${name}.`, instructions: `Do ${name}.`, allowedTools })
const free = defineSkill({ name: 'free', description: 'x', instructions: 'x' })

/** Tools that note that they ran. */
function noting(...names: string[]): { tools: Record<string, ToolDef>; ran: string[] } {
  const ran: string[] = []
  return { ran, tools: Object.fromEntries(names.map((name) => [name, tool(name, () => void ran.push(name))])) }
}

describe('allowed-tools', () => {
  test('A221 what no active skill allows is refused, and the tools for skills never are', async () => {
    const { open } = await world()
    const { tools, ran } = noting('one', 'two', 'three')
    const all = (n: string) => ['one', 'two', 'three'].map((name) => call(`${n}-${name}`, name))
    const script = [
      all('a'),
      [use('1', 'free')],
      all('b'),
      [use('2', 'first')],
      all('c'),
      [use('3', 'second')],
      all('d'),
      [
        call('4', 'skills_read', { name: 'first', path: 'x' }),
        call('5', 'skills_run_script', { name: 'first', script: 'x' }),
      ],
      'done',
    ]
    const write = [declaring('first', 'one'), declaring('second', 'two'), free]
    const { agent, results } = open(script, { tools, skills: { write } })
    await agent.run({ prompt: 'go' })
    expect(ran.join(' ')).toBe('one two three one two three one one two')
    const refused = results().filter((text) => text.startsWith('Blocked: '))
    expect(refused).toEqual([
      ...['two', 'three'].map(
        (name) =>
          `Blocked: the active skill "first" allows only one, skills_use, skills_read, skills_run_script; this call of ${name} is outside of that`,
      ),
      expect.stringContaining('the active skills "first" and "second" allow only one, two, skills_use'),
    ])
    expect(results().at(-2)).toContain('has no files')
    expect(results().at(-1)).toContain('has no scripts')
  })

  test('A221 the calls beside the activation are bound by it, and a run without the skill is not', async () => {
    const { open } = await world()
    const { tools, ran } = noting('one', 'two')
    const script = [
      [call('1', 'two'), use('2', 'first'), call('3', 'two'), call('4', 'one')],
      'done',
      [call('5', 'two')],
      'done',
    ]
    const { agent } = open(script, { tools, skills: { write: [declaring('first', 'one')] } })
    await agent.run({ prompt: 'go' })
    expect(ran).toEqual(['two', 'one'])
    await agent.run({ prompt: 'again' })
    expect(ran).toEqual(['two', 'one', 'two'])
  })

  test('binds the calls that a tool makes, and an empty list allows nothing', async () => {
    const { open } = await world()
    const { tools, ran } = noting('inner')
    const outer = tool('outer', async (_, ctx) => (await ctx.call('inner', {})).output)
    const { agent, results } = open([[use('1', 'first')], [call('2', 'outer')], [use('3', 'none')], 'done'], {
      tools: { ...tools, outer },
      skills: { write: [declaring('first', 'outer'), declaring('none')] },
    })
    await agent.run({ prompt: 'go' })
    expect(ran).toEqual([])
    expect(results()[1]).toContain('this call of inner is outside of that')
    expect(results()[2]).toContain('Allowed tools while it is active: none')
  })

  test.each([
    ['the canonical name', 'do_it'],
    ['the name the model knows', 'DoIt'],
    ['anything', '*'],
  ])('a tool is meant by %s', async (_, entry) => {
    const { open } = await world()
    const { tools, ran } = noting('do_it')
    const options = { tools, toolAliases: { do_it: 'DoIt' }, skills: { write: [declaring('first', entry)] } }
    const { agent } = open([[use('1', 'first')], [call('2', 'DoIt')], 'done'], options)
    await agent.run({ prompt: 'go' })
    expect(ran).toEqual(['do_it'])
  })
})

describe('the order of the gates', () => {
  const find = tool('mcp_docs_find', () => 'found', {
    mcp: { server: 'docs', tool: 'find', disclosure: 'lazy' },
  })
  const mcpConnector: McpConnector = async () => ({ tools: { find }, close: async () => {} })

  /** One scenario: which gate refuses, or answers, by its words. */
  async function refusing(what: {
    readonly consumer?: boolean
    readonly run?: boolean
    readonly skill?: boolean
    readonly budget?: boolean
    readonly dedup?: boolean
  }): Promise<string> {
    const { open } = await world()
    const session = await createSession({ store: createMemoryStore() })
    const options: Partial<AgentOptions> = {
      session,
      tools: { other: tool('other', () => '') },
      mcpServers: [{ name: 'docs', transport: 'stdio', command: 'x', disclosure: 'lazy' }],
      mcpConnector,
      behavior: {
        ...(what.budget && { toolBudgets: { mcp_docs_find: { max: 0, onExceed: 'block' } } }),
        ...(what.dedup && { dedupTools: { mcp_docs_find: () => 'same' } }),
      },
      hooks: what.consumer ? { 'tool:gate': block('agent hook') } : {},
    }
    const activation = what.skill ? [[use('1', 'only-other')]] : []
    const { agent, results } = open([...activation, [call('2', 'mcp_docs_find')], 'done'], {
      ...options,
      skills: { write: [declaring('only-other', 'other')] },
    })
    await agent.run({ prompt: 'go', hooks: what.run ? { 'tool:gate': block('run hook') } : {} })
    await agent.destroy()
    return results().at(-1)!
  }

  const block = (by: string) => (gate: { name: string; block: boolean; reason: string }) => {
    if (gate.name !== 'mcp_docs_find') return
    gate.block = true
    gate.reason ||= by
  }

  test('A100 is consumer, allowed-tools, budgets, dedup, lazy: the first refusal counts', async () => {
    const log: string[] = []
    const all = { consumer: true, run: true, skill: true, budget: true, dedup: true }
    const scenarios = [
      all,
      { ...all, consumer: false },
      { ...all, consumer: false, run: false },
      { budget: true, dedup: true },
      {},
    ]
    for (const scenario of scenarios) log.push(gateOf(await refusing(scenario)))
    expect(log).toEqual(['agent hook', 'run hook', 'allowed-tools', 'tool-budgets', 'lazy-disclosure'])
  })

  test('A100 a result that a consumer gave stands: no gate of the framework speaks after it', async () => {
    const { open } = await world()
    const { tools, ran } = noting('one', 'two')
    const { agent, results } = open([[use('1', 'first')], [call('2', 'two')], 'done'], {
      tools,
      behavior: { toolBudgets: { two: { max: 0, onExceed: 'block' } } },
      skills: { write: [declaring('first', 'one')] },
      hooks: {
        'tool:gate': (gate) => {
          if (gate.name === 'two') gate.result = 'in its place'
        },
      },
    })
    await agent.run({ prompt: 'go' })
    expect([results()[1], ran]).toEqual(['in its place', []])
  })

  test('A100 what dedup knows is answered before a schema is asked for, unless a skill or a budget refuses it', async () => {
    const { open } = await world()
    let calls = 0
    const counted: ToolDef = { ...find, execute: () => `found ${++calls}` }
    const asks = (id: string) => [call(id, 'mcp_docs_find')]
    const script = [
      [call('1', 'tool_search', { names: ['mcp_docs_find'] })],
      asks('2'),
      'run 1',
      asks('3'),
      'run 2',
      asks('4'),
      'run 3',
      [use('5', 'only-other')],
      asks('6'),
      'run 4',
    ]
    const { agent, results } = open(script, {
      session: await createSession({ store: createMemoryStore() }),
      mcpServers: [{ name: 'docs', transport: 'stdio', command: 'x' }],
      mcpConnector: async () => ({ tools: { counted }, close: async () => {} }),
      behavior: { dedupTools: { mcp_docs_find: () => 'same' } },
      skills: { write: [declaring('only-other', 'other')] },
    })
    const budget = { toolBudgets: { mcp_docs_find: { max: 0, onExceed: 'block' } } } as const
    const last: string[] = []
    for (const behavior of [{}, {}, budget, {}]) {
      await agent.run({ prompt: 'go', behavior })
      last.push(gateOf(results().at(-1)!))
    }
    expect(last).toEqual(['found 1', 'found 1', 'tool-budgets', 'allowed-tools'])
    expect(calls).toBe(1)
    await agent.destroy()
  })

  test('A102 a tool that a skill rules out is refused for that, and not for its schema', async () => {
    const text = await refusing({ skill: true })
    expect(text).toContain('allows only other, skills_use')
    expect(text).not.toContain('tool_search')
  })

  function gateOf(text: string): string {
    if (text.includes('allows only')) return 'allowed-tools'
    if (text.includes('may be called')) return 'tool-budgets'
    if (text.includes('is not loaded yet')) return 'lazy-disclosure'
    return text.replace('Blocked: ', '')
  }
})

describe('children', () => {
  const child = (task: string) => call('s', 'spawn', { task })
  const write = [declaring('strict', 'spawn', 'look'), declaring('loose', 'spawn', 'act')]

  test.each([
    ['like its parent', {}],
    ['with tools and extensions of its own', { extensions: [] }],
    ['with rules of its own', { authority: { mode: 'yolo' } }],
    ['with skills of its own', { skills: { write: [declaring('loose', 'act')] } }],
    ['that is to have no skills', { skills: undefined, extensions: [] }],
    ['whose skills are turned off', { skills: { enabled: false } }],
  ])('AG-01 a child %s is bound by the skills of its parent', async (_, preset) => {
    const { open } = await world()
    const { tools, ran } = noting('look', 'act')
    const spawn = createSpawnTool({ preset: { ...preset } })
    const script = [[use('1', 'strict')], [child('try')], [call('c1', 'act'), call('c2', 'look')], 'child done', 'done']
    const { agent } = open(script, { tools: { ...tools, spawn }, skills: { write } })
    await agent.run({ prompt: 'go' })
    expect(ran).toEqual(['look'])
    await agent.destroy()
  })

  test('AG-01 what a child activates only narrows, and ends with it', async () => {
    const { open } = await world()
    const { tools, ran } = noting('look', 'act')
    const script = [
      [use('1', 'strict')],
      [child('try')],
      [use('c0', 'loose')],
      [call('c1', 'act'), call('c2', 'look')],
      'child done',
      [call('2', 'look'), call('3', 'act')],
      'done',
    ]
    const { agent, told } = open(script, { tools: { ...tools, spawn: createSpawnTool() }, skills: { write } })
    await agent.run({ prompt: 'go' })
    expect(ran).toEqual(['look'])
    expect(told).toEqual(['+strict model', '-strict run-end'])
    await agent.destroy()
  })
})
