import { describe, expect, test } from 'vitest'
import type { ToolDef } from '../core/tool.ts'
import { createAgent } from '../create-agent.ts'
import { call, fakeClock, memoryExecution, type Step, scripted, tool } from '../testing/index.ts'
import { createSpawnTool } from '../tools/spawn.ts'
import { type Authority, type AuthorityOptions, createAuthority } from './authority.ts'
import type { Prompt } from './interaction/interactor-queue.ts'
import type { ToolRule } from './rules/settings.ts'

const spawn = createSpawnTool()

describe('D048 rules by tool take effect at once', () => {
  test('D048 confirm, then auto, then confirm again: each counts from the next call on, in a run under way', async () => {
    const { agent, authority, prompts } = guarded([
      [call('1', 'write')],
      changing(() => authority.setToolRules({ write: { mode: 'auto' } }), [call('2', 'write')]),
      changing(() => authority.setToolRules({ write: { mode: 'confirm' } }), [call('3', 'write')]),
      'Done.',
    ])
    await agent.run({ prompt: 'Go.' })
    expect(prompts).toEqual(['write 1', 'write 3'])
  })

  test('D048 a later run has the new rules too, and so has a second agent', async () => {
    const { agent, authority, prompts, tools } = guarded([[call('1', 'write')], 'a', [call('2', 'write')], 'b'])
    await agent.run({ prompt: 'Go.' })
    authority.setToolRules({ write: { mode: 'auto' } })
    await agent.run({ prompt: 'Again.' })
    const other = createAgent({ provider: scripted([call('3', 'write')], 'c'), authority, tools })
    await other.run({ prompt: 'Go.' })
    expect(prompts).toEqual(['write 1'])
  })

  test('D048 running children have the new rules, also those with their own rules', async () => {
    for (const preset of [undefined, 'own']) {
      const withOwn = createSpawnTool({ presets: { own: { authority: { deny: ['fetch'] } } } })
      const task = call('s', 'spawn', { task: 'help', ...(preset && { preset }) })
      const { agent, authority, prompts } = guarded(
        [
          [task],
          [call('1', 'write')],
          changing(() => authority.setToolRules({ write: { mode: 'auto' } }), [call('2', 'write')]),
          changing(() => authority.setToolRules({}), [call('3', 'write')]),
          'child',
          'Done.',
        ],
        { authority: { allow: ['spawn'] }, tools: { spawn: withOwn } },
      )
      await agent.run({ prompt: 'Go.' })
      expect(prompts).toEqual(['write 1', 'write 3'])
    }
  })

  test('a call that is denied while a person is being asked does not run when the person says yes', async () => {
    const deny = { write: { denyPatterns: ['.'] } }
    const { agent, authority, ran } = guarded([[call('1', 'write')], 'Done.'], {
      answer: () => {
        authority.setToolRules(deny)
        return true
      },
    })
    await agent.run({ prompt: 'Go.' })
    expect(ran).toEqual([])
  })

  test('D019 patterns match the JSON of the tool and its parameters, ignoring case', async () => {
    const pattern = '^\\{"tool":"WRITE","parameters":\\{"path":"SECRET/.*"\\}\\}$'
    const script = [[call('1', 'write', { path: 'secret/x' }), call('2', 'write', { path: 'open/x' })], 'Done.']
    const { agent, authority, ran } = guarded(script)
    authority.setToolRules({ write: { denyPatterns: [pattern], mode: 'auto' } })
    await agent.run({ prompt: 'Go.' })
    expect(ran).toEqual(['write'])
  })

  test('they replace those of the launch; other layers, tightened rules and the mode stay', async () => {
    const { agent, authority, prompts, ran } = guarded(
      [[call('1', 'write'), call('2', 'read'), call('3', 'send')], 'Done.'],
      {
        authority: {
          layers: { global: { tools: { read: { mode: 'confirm' } } } },
          tools: { write: { mode: 'confirm' } },
        },
      },
    )
    authority.tighten({ deny: ['send'] })
    authority.setToolRules({ send: { mode: 'auto' } })
    await agent.run({ prompt: 'Go.' })
    expect(prompts).toEqual(['write 1', 'read 2']) // writing because of the mode
    expect(ran).toEqual(['write', 'read'])
  })

  test('they do not widen plan', async () => {
    const { agent, authority, prompts, ran } = guarded([[call('1', 'write')], 'Done.'], { authority: { mode: 'plan' } })
    authority.setToolRules({ write: { mode: 'auto', allowPatterns: ['.'] } })
    await agent.run({ prompt: 'Go.' })
    expect([ran, prompts]).toEqual([[], []])
    expect(authority.mode).toBe('plan')
  })

  test.each([
    [{ write: { denyPatterns: ['(open'] } }, /InvalidPattern: "\(open" in the launch settings' tools\.write/],
    [{ write: { mode: 'yes' } }, /mode: "yes"; write "auto" or "confirm"/],
    [{ write: { timeoutMs: -1 } }, /timeoutMs: -1/],
    [{ write: { timeout: 1 } }, /unknown field "timeout"/],
    [undefined, /tools are null; write an object/],
    ['auto', /tools are "auto"; write an object/],
  ])('what is wrong is refused, and the old rules stay: %j', async (wrong, message) => {
    const { agent, authority, prompts, ran } = guarded([[call('1', 'write')], 'Done.'], {
      authority: { tools: { write: { mode: 'auto' } } },
    })
    expect(() => authority.setToolRules(wrong as never)).toThrow(message)
    await agent.run({ prompt: 'Go.' })
    expect([prompts, ran]).toEqual([[], ['write']])
  })

  test('changing the given object afterwards has no effect', async () => {
    const { agent, authority, prompts } = guarded([[call('1', 'write')], 'Done.'])
    const rules: Record<string, ToolRule> = { write: { mode: 'auto' } }
    authority.setToolRules(rules)
    rules.write = { mode: 'confirm' }
    await agent.run({ prompt: 'Go.' })
    expect(prompts).toEqual([])
  })
})

describe('time limits', () => {
  test('D017 the limit of a tool counts before that of a rule, and that before 30 s', async () => {
    const own = hanging('own', { timeoutMs: 5000 })
    const none = hanging('none', { timeoutMs: 0 })
    const ruled = hanging('ruled')
    const plain = hanging('plain')
    const tools = { own: own.tool, none: none.tool, ruled: ruled.tool, plain: plain.tool }
    const rules = { own: { timeoutMs: 1000 }, none: { timeoutMs: 1000 }, ruled: { timeoutMs: 2000 } }
    const ended = async (name: keyof typeof tools): Promise<number | undefined> => {
      const run = timed([[call('1', name)], 'Done.'], { tools, rules })
      for (let second = 1; second <= 40; second++) {
        await run.clock.advance(1000)
        if (run.results().length > 0) return second
      }
      none.finish()
      await run.done
      return undefined
    }
    expect(await ended('own')).toBe(5)
    expect(await ended('ruled')).toBe(2)
    expect(await ended('plain')).toBe(30)
    expect(await ended('none')).toBe(undefined)
  })

  test('D048 setting, changing and removing a limit applies from the next call on', async () => {
    const { tool: wait } = hanging('wait')
    const seconds: number[] = []
    const script = [1, 2, 3, 4].map((n) => [call(String(n), 'wait')])
    const run = timed([...script, 'Done.'], { tools: { wait } })
    await run.clock.advance(0)
    const limits = [{}, { wait: { timeoutMs: 2000 } }, { wait: { timeoutMs: 4000 } }, {}]
    for (const n of limits.keys()) {
      let second = 0
      for (; run.results().length === n && second < 100; second++) {
        if (second === 0) run.authority.setToolRules(limits[n + 1] ?? {}) // the call under way keeps its own
        await run.clock.advance(1000)
      }
      seconds.push(second)
    }
    await run.done
    expect(seconds).toEqual([30, 2, 4, 30])
  })

  test('D048 a limit of 0 means none, and a changed limit applies to a call that already holds the tool', async () => {
    const wait = hanging('wait')
    const second: Step = [call('1', 'wait'), call('2', 'wait')]
    const run = timed([second, 'Done.'], { tools: { wait: wait.tool }, rules: { wait: { timeoutMs: 1000 } } })
    await run.clock.advance(0)
    run.authority.setToolRules({ wait: { timeoutMs: 0 } })
    await run.clock.advance(1000)
    await run.clock.advance(3_600_000)
    wait.finish()
    await run.done
    expect(run.results()).toEqual([expect.stringContaining('1000 ms'), 'wait ran'])
  })

  test('D048 running children have the new rules, also those with their own rules', async () => {
    for (const preset of [undefined, 'own']) {
      const wait = hanging('wait')
      const own = { authority: { tools: { other: { timeoutMs: 1 } } } }
      const withOwn = createSpawnTool({ presets: { own } })
      const task = call('s', 'spawn', { task: 'help', ...(preset && { preset }) })
      const tools = { wait: wait.tool, spawn: withOwn }
      const seen: number[] = []
      const noting = (calls: Step) => () => {
        seen.push(run.clock.now())
        run.authority.setToolRules({ wait: { timeoutMs: 3000 } })
        return calls
      }
      const run = timed([[task], noting([call('1', 'wait')]), noting('child'), 'Done.'], { tools })
      await run.clock.advance(60_000)
      await run.done
      expect(seen).toEqual([0, 3000])
    }
  })

  test('the list of tools for the model stays the same, in the same order', async () => {
    const tools = Object.fromEntries(['c', 'a', 'b'].map((name) => [name, tool(name, () => name)]))
    const provider = scripted(
      [call('1', 'c')],
      changing(() => authority.setToolRules({ c: { timeoutMs: 5 }, a: { timeoutMs: 0 } }), [call('2', 'a')]),
      'Done.',
    )
    const authority = createAuthority({ mode: 'yolo' })
    await createAgent({ provider, authority, tools }).run({ prompt: 'Go.' })
    const offered = provider.requests.map(({ tools }) => tools.map(({ name }) => name))
    expect(offered).toEqual([offered[0], offered[0], offered[0]])
    expect(offered[0]!.filter((name) => name in tools)).toEqual(['c', 'a', 'b'])
  })

  test('a tool that is an object of a class keeps its methods', async () => {
    class Greeter {
      spec = { name: 'greet', description: 'Greets.', inputSchema: { type: 'object' } as const }
      execute(): string {
        return 'hello'
      }
    }
    const run = timed([[call('1', 'greet')], 'Done.'], {
      tools: { greet: new Greeter() as ToolDef },
      rules: { greet: { timeoutMs: 5 } },
    })
    await run.done
    expect(run.results()).toEqual(['hello'])
  })
})

/** An agent that asks about writing, the questions, before which run of a tool, and what ran. */
function guarded(
  script: readonly Step[],
  more: {
    authority?: AuthorityOptions
    tools?: Record<string, ToolDef>
    answer?: () => unknown
  } = {},
) {
  const prompts: string[] = []
  const ran: string[] = []
  const noting = (name: string): ToolDef =>
    tool(
      name,
      () => {
        ran.push(name)
        return 'ok'
      },
      { effects: ['fs.write'] },
    )
  const person = ({ payload }: Prompt): unknown => {
    prompts.push(`${payload.toolId} ${ran.length + 1}`)
    return more.answer?.() ?? 'once'
  }
  const authority = createAuthority({ mode: 'ask', interactors: [person], ...more.authority })
  const tools = { write: noting('write'), read: noting('read'), send: noting('send'), spawn, ...more.tools }
  const agent = createAgent({ provider: scripted(...script), authority, tools, execution: memoryExecution() })
  return { agent, authority, prompts, ran, tools }
}

/** A step at which the host changes its settings, between two calls of a run. */
const changing = (change: () => void, step: Step) => () => {
  change()
  return step
}

/** A tool that answers when it is told to. */
function hanging(name: string, more: Partial<ToolDef> = {}): { tool: ToolDef; finish: () => void } {
  let finish = (): void => {}
  const execute = () => new Promise<string>((resolve) => (finish = () => resolve(`${name} ran`)))
  return { tool: tool(name, execute, more), finish: () => finish() }
}

/** A run on a clock that stands still. */
function timed(
  script: readonly Step[],
  { tools, rules = {} }: { tools: Record<string, ToolDef>; rules?: Record<string, ToolRule> },
) {
  const clock = fakeClock()
  const authority: Authority = createAuthority({ mode: 'yolo', tools: rules, clock })
  const agent = createAgent({ provider: scripted(...script), authority, tools, clock, execution: memoryExecution() })
  const done = agent.run({ prompt: 'Go.' })
  const results = (): string[] =>
    agent.turns.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === 'tool_result' ? [String(block.output)] : [])),
    )
  return { agent, authority, clock, done, results }
}
