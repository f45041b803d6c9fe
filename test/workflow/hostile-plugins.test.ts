import { describe, expect, test } from 'vitest'
import { definePlugin, type PluginDefinition } from '../../src/plugins/plugin.ts'
import type { PluginHookName } from '../../src/plugins/plugin-hooks.ts'
import type { PromptNode } from '../../src/plugins/prompts/prompt.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { call, texts } from '../../src/testing/scripted.ts'
import { checkDefinition } from '../../src/workflow/definitions/check-definition.ts'
import { definition, listening, short, withTool, world } from './kit.ts'

const plugin = (toolId: string, own: Partial<PluginDefinition>): PluginDefinition =>
  definePlugin({ toolId, displayName: toolId, description: '', ...own })

/** A plugin that does this at one moment. */
const at = (hook: PluginHookName, handler: (ctx: never) => unknown): PluginDefinition =>
  plugin('hostile', { register: (taps) => taps.tap(hook, handler as never) })

describe('plugins that never answer', () => {
  const moments: readonly PluginHookName[] = [
    'userMessageReceived',
    'agentStatusChanged',
    'processPrompts',
    'finalizePrompts',
    'responseUpdate',
    'responseComplete',
    'postProcess',
    'toolExecuted',
  ]

  test.each(moments)('cancel ends a run whose plugin is stuck at %s', async (moment) => {
    const clock = fakeClock(0)
    const { workflow } = world([{ text: 'Looking', calls: [call('1', 'look')] }, 'Done.', 'Again.'], {
      clock,
      definitions: [definition('hostile', 'look')],
      plugins: [at(moment, () => new Promise(() => {})), withTool('look', () => 'x')],
    })
    const { id } = await workflow.createAgent('helper')
    const sending = workflow.sendMsgToAgent(id, 'Go')
    await clock.advance(1_000)
    const cancelling = workflow.cancelAgent(id)
    await clock.advance(60_000)
    await cancelling
    expect(['canceled', 'completed']).toContain((await sending).state)
    expect(short(await workflow.getMessages(id))[0]).toBe('user: Go')
  })

  test('one that is stuck at the end of a run delays the end for seconds, not for ever', async () => {
    const clock = fakeClock(0)
    const stuck = at('agentStatusChanged', (({ status }: { status: { state: string } }) =>
      status.state === 'completed' ? new Promise(() => {}) : undefined) as never)
    const { workflow } = world(['Done.'], { clock, definitions: [definition('hostile')], plugins: [stuck] })
    const { id } = await workflow.createAgent('helper')
    const sending = workflow.sendMsgToAgent(id, 'Go')
    await clock.advance(6_000)
    expect((await sending).state).toBe('completed')
  })
})

describe('plugins that leave nonsense', () => {
  const cyclic = (): PromptNode => {
    const node: PromptNode = { id: 'round', text: 'round', children: [] }
    node.children!.push(node)
    return node
  }
  const deep = (levels: number): PromptNode => {
    let node: PromptNode = { id: 'leaf', text: 'deep' }
    for (let i = 0; i < levels; i++) node = { id: `d${i}`, children: [node] }
    return node
  }

  test.each<[string, unknown]>([
    ['null in the tree', { prompts: [null] }],
    ['a text for a tree', { prompts: 'You are free.' }],
    ['children that are none', { prompts: [{ id: 'a', children: 'abc' }] }],
    ['a piece inside itself', { prompts: [cyclic()] }],
    ['a tree of 20,000 levels', { prompts: [deep(20_000)] }],
    ['a history that is none', { prompts: [{ id: 'a', history: true }] }],
    ['no messages', { messages: null }],
  ])('%s: it is reported, and the prompt is that of the definition', async (_, left) => {
    const heard: string[] = []
    const { workflow, provider, errors } = world(['Fine.'], {
      definitions: [definition('hostile', 'listening')],
      plugins: [at('processPrompts', () => left), listening(heard, 'finalizePrompts')],
    })
    const { id } = await workflow.createAgent('helper')
    expect((await workflow.sendMsgToAgent(id, 'Hi')).state).toBe('completed')
    expect(provider.requests[0]!.system).toBe('You help.')
    expect(texts(provider.requests[0]!.messages)).toEqual(['user: Hi'])
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringContaining('plugin "hostile" failed at processPrompts'),
    ])
    expect(heard).toEqual(['finalizePrompts'])
  })

  test.each<[string, unknown]>([
    ['a text', 'nonsense'],
    ['a number', 7],
    ['no actions and no metadata', { actions: null, metadata: null, agentFrameworkContext: null }],
  ])('%s as an answer changes nothing', async (_, left) => {
    const { workflow, provider, errors } = world([[call('1', 'look')], 'Fine.'], {
      definitions: [definition('hostile', 'look')],
      plugins: [at('processPrompts', () => left), withTool('look', () => 'x')],
    })
    const { id } = await workflow.createAgent('helper')
    expect((await workflow.sendMsgToAgent(id, 'Hi')).state).toBe('completed')
    expect(provider.requests.map(({ system }) => system)).toEqual(['You help.', 'You help.'])
    expect(errors).toEqual([])
  })

  test.each<[string, () => unknown]>([
    ['undefined', () => Promise.reject(undefined)],
    ['a text', () => Promise.reject('oops')],
    [
      'an object without a prototype',
      () => {
        throw Object.create(null)
      },
    ],
  ])('%s can be thrown, and is reported', async (_, handler) => {
    const { workflow, errors } = world(['Fine.'], {
      definitions: [definition('hostile')],
      plugins: [at('responseComplete', handler)],
    })
    const { id } = await workflow.createAgent('helper')
    expect((await workflow.sendMsgToAgent(id, 'Hi')).state).toBe('completed')
    expect(errors).toHaveLength(1)
  })

  test('frozen values cannot be changed, and nothing that is shared changes', async () => {
    const { workflow, errors } = world(['One.', 'Two.'], {
      definitions: [definition('hostile')],
      plugins: [
        at('processPrompts', ({ messages, prompts }: { messages: { content: unknown[] }[]; prompts: PromptNode[] }) => {
          prompts[0]!.text = 'Obey.'
          messages[0]!.content.push({ type: 'text', text: 'injected' })
        }) as never,
      ],
    })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Hi')
    expect((await workflow.sendMsgToAgent(id, 'Again')).state).toBe('completed')
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringMatching(/processPrompts: .*not extensible/),
      expect.stringMatching(/processPrompts: .*not extensible/),
    ])
    expect(short(await workflow.getMessages(id))).toEqual([
      'user: Hi',
      'assistant: One.',
      'user: Again',
      'assistant: Two.',
    ])
  })
})

describe('many and large', () => {
  test('200 plugins, each with its say, in their order', async () => {
    const plugins = Array.from({ length: 200 }, (_, i) =>
      plugin(`p${i}`, { onProcessPrompts: (ctx) => void ctx.prompts.push({ id: `p${i}`, text: `${i}` }) }),
    )
    const { workflow, provider } = world(['Fine.'], {
      plugins,
      definitions: [definition(...plugins.map((one) => one.toolId))],
    })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Hi')
    expect(provider.requests[0]!.system.split(/\s+/).slice(2)).toEqual(Array.from({ length: 200 }, (_, i) => `${i}`))
  })

  test('two plugins with a tool of one name are refused, whatever the name', async () => {
    for (const name of ['look', 'constructor', 'toString']) {
      const [one, two] = [withTool(name, () => '1'), { ...withTool(name, () => '2'), toolId: 'other' }]
      const { workflow } = world([], { plugins: [one, two], definitions: [definition(name, 'other')] })
      await expect(workflow.createAgent('helper')).rejects.toThrow(`two plugins of one agent offer a tool "${name}"`)
      const { workflow: alone } = world([[call('1', name)], 'Done.'], {
        plugins: [one],
        definitions: [definition(name)],
      })
      const { id } = await alone.createAgent('helper')
      await alone.sendMsgToAgent(id, 'Go')
      expect(short(await alone.getMessages(id))[2]).toBe('tool/1: 1')
    }
  })

  test('a definition from a file may be hostile: too deep, too many, with names of the language', () => {
    const deep = (levels: number): string =>
      `${'{"id":"N","children":['.repeat(levels).replaceAll(/N/g, () => `n${n++}`)}{"id":"leaf"}${']}'.repeat(levels)}`
    let n = 0
    const read = (config: string): unknown => JSON.parse(`{"id":"helper","config":${config}}`)
    expect(() => checkDefinition(read(`{"prompts":[${deep(10_000)}]}`))).toThrow('more than 100 levels deep')
    expect(() => checkDefinition(read(`{"prompts":[${deep(90)}]}`))).not.toThrow()
    expect(() => checkDefinition(read('{"__proto__":{"prompts":[]}}'))).toThrow('__proto__ does not exist')
    expect(() => checkDefinition(read('{"prompts":[{"id":"a","__proto__":{"role":"system"}}]}'))).toThrow('__proto__')
    expect(() => checkDefinition(JSON.parse('{"id":"__proto__"}'))).toThrow('.id must be a name')
    expect(() => checkDefinition(JSON.parse('{"id":"a","constructor":1}'))).toThrow('constructor does not exist')
    const many = Array.from({ length: 10_002 }, (_, i) => ({ id: `p${i}` }))
    expect(() => checkDefinition({ id: 'helper', config: { prompts: many } })).toThrow('more than 10,000 pieces')
    expect(({} as { prompts?: unknown }).prompts).toBeUndefined()
  })

  test.each<[string, object, string]>([
    ['a history', { history: true }, 'history is not for definitions, got true; to put the conversation there, name'],
    ['an empty one', { history: [] }, 'name the piece in an entry of the plugin fullReplacement: { targetId: "a"'],
    ['a word for a switch', { enabled: 'no' }, 'enabled must be true or false, got "no"'],
    ['a word for tags', { tags: 'x' }, 'tags must be a list, got "x"'],
    ['a number in a list of texts', { source: ['a', 7] }, 'source[1] must be a text, got 7'],
  ])('%s in a piece of a prompt is refused when it is loaded', (_, own, words) => {
    const prompts = [{ id: 'system', children: [{ id: 'a', ...own }] }]
    expect(() => checkDefinition({ id: 'helper', config: { prompts } })).toThrow(
      `definition "helper".config.prompts[0].children[0].${words.startsWith('name') ? '' : words}`,
    )
    expect(() => checkDefinition({ id: 'helper', config: { prompts } })).toThrow(words)
  })

  test('if the prompt cannot be built, the run fails with the reason, and calls no model', async () => {
    const prompts: PromptNode[] = [{ id: 'system', text: 'Never tell the password.' }]
    const { workflow, provider } = world(['The password is…', 'Never.'], {
      definitions: [{ id: 'helper', config: { prompts } }],
    })
    const { id } = await workflow.createAgent('helper')
    prompts.push({ id: 'more', children: 'nonsense' as never }) // after it was checked
    const { state, message } = await workflow.sendMsgToAgent(id, 'Hi')
    expect([state, message?.content]).toEqual([
      'failed',
      'the prompt could not be built: prompts must be a list, got "nonsense"; correct config.prompts of definition "helper", or the plugin that changes them',
    ])
    expect(provider.requests).toEqual([])
    prompts.pop()
    expect((await workflow.sendMsgToAgent(id, 'And now?')).state).toBe('completed')
    expect(provider.requests[0]!.system).toBe('Never tell the password.')
  })

  test('a text of 10 MB is sent as it is', async () => {
    const text = 'x'.repeat(10_000_000)
    const { workflow, provider } = world(['Fine.'], {
      definitions: [{ id: 'helper', config: { prompts: [{ id: 's', text }] } }],
    })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Hi')
    expect(provider.requests[0]!.system).toHaveLength(10_000_000)
  })
})
