import { describe, expect, test } from 'vitest'
import {
  AgentContextExceededError,
  type AgentHookMap,
  type AgentOptions,
  composePresets,
  createAgent,
  createMemoryStore,
  createSession,
  definePreset,
  loadSession,
} from '../../src/index.ts'
import { call, type ScriptedProvider, scripted, texts, tool } from '../../src/testing/index.ts'
import type { Provider } from '../../src/types.ts'

describe('aliases', () => {
  test('A175 the model sees the wire name, the session and the hooks the canonical one', async () => {
    const seen: unknown[] = []
    const { provider, agent } = await work([[call('1', 'Bash')], [call('2', 'Bash')], 'done'], {
      toolAliases: { shell: 'Bash' },
      hooks: {
        'stream:tool:start': ({ name, displayName }) => void seen.push(['stream', name, displayName]),
        'tool:gate': ({ name, displayName, runToolCounts }) =>
          void seen.push(['gate', name, displayName, runToolCounts]),
        'tool:after': ({ name, displayName }) => void seen.push(['after', name, displayName]),
      },
    })
    expect(provider.requests.map(toolNames)).toEqual(Array(3).fill(['Bash', 'read_file']))
    expect(toolNameOnResults(provider.requests[2]!)).toEqual(['Bash', 'Bash'])
    expect(toolNameOnResults({ messages: agent.turns })).toEqual(['shell', 'shell'])
    expect(seen).toEqual([
      ['stream', 'shell', 'Bash'],
      ['gate', 'shell', 'Bash', {}],
      ['after', 'shell', 'Bash'],
      ['stream', 'shell', 'Bash'],
      ['gate', 'shell', 'Bash', { shell: 1 }],
      ['after', 'shell', 'Bash'],
    ])
  })

  test('A175 a tool without an alias keeps its name, and a model that uses the canonical name is understood', async () => {
    const names: string[] = []
    await work([[call('1', 'read_file'), call('2', 'shell')], 'done'], {
      toolAliases: { shell: 'Bash' },
      hooks: { 'tool:after': ({ name, displayName }) => void names.push(`${name} ${displayName}`) },
    })
    expect(names).toEqual(['read_file read_file', 'shell Bash'])
  })

  test('A175 two tools may swap their names', async () => {
    const { provider, agent } = await work([[call('1', 'read_file')], 'done'], {
      toolAliases: { shell: 'read_file', read_file: 'shell' },
    })
    expect(toolNames(provider.requests[0]!)).toEqual(['read_file', 'shell'])
    expect(texts(agent.turns).slice(1, 3)).toEqual(['assistant: →shell({})', 'user: ←shell ran'])
  })

  test('A175 an unknown name is answered with names that the model was shown', async () => {
    const { agent } = await work([[call('1', 'Bahs')], 'done'], { toolAliases: { shell: 'Bash' } })
    expect(texts(agent.turns)[2]).toBe('user: ←Unknown tool: Bahs, did you mean "Bash"?')
  })

  test('A175 a refusal by a budget speaks of the tool by the name that the model was shown', async () => {
    const { agent } = await work([[call('1', 'Bash')], 'done'], {
      toolAliases: { shell: 'Bash' },
      behavior: { toolBudgets: { shell: { max: 0, onExceed: 'block' } } },
    })
    expect(texts(agent.turns)[2]).toBe('user: ←Blocked: Bash may be called 0 times per run, and that is used up')
  })

  test('A175 two tools cannot be shown under one name', async () => {
    const both = { shell: 'Do', read_file: 'Do' }
    expect(() => createAgent({ provider: scripted(), toolAliases: both })).toThrow(
      'toolAliases: "shell" and "read_file" cannot both be shown as "Do"',
    )
    await expect(work(['done'], { toolAliases: { shell: 'read_file' } })).rejects.toThrow(
      'toolAliases show two tools as "read_file"',
    )
  })

  test('A176 a stored session goes on under another map of aliases', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    await work([[call('1', 'Bash')], 'done'], { session, toolAliases: { shell: 'Bash' } })

    const loaded = await loadSession(store, 's')
    const { provider } = await work([[call('2', 'run_command')], 'done'], {
      session: loaded,
      toolAliases: { shell: 'run_command' },
    })
    expect(toolNames(provider.requests[0]!)).toEqual(['run_command', 'read_file'])
    expect(toolNameOnResults(provider.requests[1]!)).toEqual(['run_command', 'run_command'])
    expect(toolNameOnResults({ messages: loaded.turns })).toEqual(['shell', 'shell'])
  })
})

describe('presets', () => {
  test('A177 composing merges field by field', () => {
    const [one, two, three] = ['one', 'two', 'three'].map((name) => tool(name, () => name))
    const [a, b, c] = [() => {}, () => {}, () => {}]
    const first = {
      name: 'first',
      system: 'be kind',
      eager: true,
      skills: { exclude: ['x'] },
      tools: { one: one!, two: two! },
      toolAliases: { one: '1', two: '2' },
      behavior: { maxTurns: 3, cache: false },
      hooks: { 'turn:before': a, 'agent:done': [a, b] },
    }
    const second = {
      name: 'second',
      skills: { enabled: ['y'] },
      tools: { two: three! },
      toolAliases: { two: 'II' },
      behavior: { maxTurns: 5 },
      hooks: { 'agent:done': c },
    }
    expect(composePresets(first, {}, second)).toEqual({
      name: 'second',
      system: 'be kind',
      eager: true,
      skills: { enabled: ['y'] },
      tools: { one, two: three },
      toolAliases: { one: '1', two: 'II' },
      behavior: { maxTurns: 5, cache: false },
      hooks: { 'turn:before': [a], 'agent:done': [a, b, c] },
    })
  })

  test('A177 composing nothing gives an empty preset, and no preset is changed by it', () => {
    const preset = definePreset({ behavior: { maxTurns: 3 }, hooks: { 'agent:done': () => {} } })
    const before = { ...preset, behavior: { ...preset.behavior }, hooks: { ...preset.hooks } }
    expect(composePresets()).toEqual({})
    composePresets(preset, { behavior: { maxTurns: 4 }, hooks: { 'agent:done': () => {} } })
    expect(preset).toEqual(before)
  })

  test('A178 spreading two presets loses hooks, composing them keeps all in order', async () => {
    const heard: string[] = []
    const hear = (who: string): AgentHookMap => ({ 'agent:done': () => void heard.push(who) })
    const [first, second] = [{ hooks: hear('first') }, { hooks: hear('second') }]

    await createAgent({ provider: scripted('ok'), ...first, ...second }).run({ prompt: 'hi' })
    expect(heard.splice(0)).toEqual(['second'])
    await createAgent({ provider: scripted('ok'), ...composePresets(first, second) }).run({ prompt: 'hi' })
    expect(heard).toEqual(['first', 'second'])
  })

  test('A179 of two MCP servers with one name the later one counts', async () => {
    const http = (name: string, url: string) => ({ name, transport: 'streamable-http' as const, url })
    const preset = composePresets(
      { mcpServers: [http('a', 'http://old'), http('b', 'http://b')] },
      { mcpServers: [http('a', 'http://new')] },
    )
    const asked: unknown[] = []
    const agent = createAgent({
      ...preset,
      provider: scripted(),
      mcpConnector: async (configs) => {
        asked.push(...configs)
        return { tools: {}, close: async () => {} }
      },
    })
    await agent.warmup()
    expect(asked).toEqual([http('b', 'http://b'), http('a', 'http://new')])
  })
})

type Request = Pick<ScriptedProvider['requests'][number], 'messages'>

const toolNames = ({ tools }: ScriptedProvider['requests'][number]) => tools.map(({ name }) => name)
const toolNameOnResults = ({ messages }: Request) =>
  messages.flatMap(({ content }) => content.flatMap((block) => (block.type === 'tool_call' ? [block.name] : [])))

async function work(script: Parameters<typeof scripted>, options: Partial<AgentOptions>) {
  const provider = scripted(...script)
  const tools = { shell: tool('shell', () => 'shell ran'), read: tool('read_file', () => 'file read') }
  const agent = createAgent({ provider, tools, ...options })
  await agent.run({ prompt: 'go' })
  return { provider, agent }
}

test('a provider that is an instance of a class keeps its methods behind aliases and blindness', async () => {
  class Refusing implements Provider {
    readonly #error = new Error('too long')
    readonly meta = { name: 'class', defaultModel: 'm', capabilities: { vision: false } }
    // biome-ignore lint/correctness/useYield: it fails before it has anything to say
    async *stream(): AsyncGenerator<never> {
      throw this.#error
    }
    classifyError(error: unknown) {
      return error === this.#error ? ({ kind: 'context_exceeded' } as const) : null
    }
  }
  const agent = createAgent({ provider: new Refusing(), toolAliases: { a: 'b' } })
  await expect(agent.run({ prompt: 'go' })).rejects.toBeInstanceOf(AgentContextExceededError)
})
