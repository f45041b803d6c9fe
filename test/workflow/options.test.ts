import { describe, expect, test } from 'vitest'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { call, scripted, texts } from '../../src/testing/scripted.ts'
import { createWorkflow, type NewAgent, type WorkflowOptions } from '../../src/workflow/workflow.ts'
import { definition, world } from './kit.ts'

const made = (options: object) => () =>
  createWorkflow({ provider: scripted(), definitions: [definition()], ...options } as WorkflowOptions)

describe('createWorkflow refuses', () => {
  test.each([
    [{ definition: [] }, 'createWorkflow has no option "definition", did you mean "definitions"?'],
    [{ tools: [] }, 'createWorkflow has no option "tools"'],
    [{ store: {} }, 'option "store" must be a store with append() and read(), got an object with no keys'],
    [{ store: Promise.resolve(createMemoryStore()) }, 'option "store" must be a store'],
    [{ plugins: {} }, 'option "plugins" must be a list, got an object with no keys'],
    [{ handlers: [] }, 'option "handlers" must be an object, got an array of 0'],
    [{ handlers: { x: 1 } }, 'createWorkflow option "handlers": "x" must be a function, got 1'],
    [{ plugins: [{ toolId: 'x', displayName: 'X' }] }, 'plugin "x" needs a description, a text for people'],
    [{ plugins: [{ toolId: 'x', description: 'X' }] }, 'plugin "x" needs a displayName'],
    [{ knowledge: { open() {} } }, 'option "knowledge" must be a store of wikis with workspaces() and open()'],
    [{ embed: 'model' }, 'option "embed" must be a function, got "model"'],
    [{ execution: 'docker' }, 'option "execution" must be an execution context with spawn() and exec()'],
    [{ authority: 'yolo' }, 'option "authority" must be an object, got "yolo"'],
    [{ settings: 'strict' }, 'option "settings" must be an object, got "strict"'],
    [{ settings: { aproval: {} } }, 'settings of a workflow has no option "aproval", did you mean "approval"?'],
    [{ snapshots: true }, 'option "snapshots" must be an object, got true'],
    [{ snapshots: { folders: '.' } }, 'option "snapshots" has no option "folders", did you mean "folder"?'],
    [{ batchTimeoutMs: -1 }, 'option "batchTimeoutMs" must be a number of at least 0, got -1'],
    [{ clock: Date }, 'option "clock" must be a clock with now() and timer()'],
    [{ newId: 7 }, 'option "newId" must be a function, got 7'],
    [{ onError: 'log' }, 'option "onError" must be a function, got "log"'],
    [{ provider: {} }, 'createWorkflow needs a provider, or a function of a definition that gives one'],
    [{ definitions: definition() }, 'createWorkflow needs a list of definitions, got an object with id, config'],
    [{ definitions: [definition(), definition()] }, 'definitions[1]: there are two definitions "helper"'],
  ])('%j', (options, words) => {
    expect(made(options)).toThrow(words)
  })

  test('what is no object at all, without showing it', () => {
    const loose: (options: unknown) => unknown = (options) => createWorkflow(options as WorkflowOptions)
    expect(() => loose(undefined)).toThrow('createWorkflow takes its options as an object, got undefined')
  })
})

test('an option that is undefined counts as absent', async () => {
  const workflow = made({ store: undefined, plugins: undefined, settings: undefined, snapshots: undefined })()
  expect((await workflow.listAgents()).agents).toEqual([])
  await workflow.close()
})

test.each([
  [{ nam: 'Painter' }, 'workflow.createAgent has no option "nam", did you mean "name"?'],
  [{ name: 5 }, 'workflow.createAgent option "name" must be a text, got 5'],
  [{ volatile: 'yes' }, 'workflow.createAgent option "volatile" must be true or false, got "yes"'],
  [{ config: { plugin: [] } }, 'config.plugin does not exist, did you mean "plugins"?'],
  [null, 'workflow.createAgent takes its options as an object, got null'],
])('a new agent with %j is refused, and is not there', async (given, words) => {
  const { workflow } = world([])
  await expect(workflow.createAgent('helper', given as NewAgent)).rejects.toThrow(words)
  expect((await workflow.listAgents()).agents).toEqual([])
})

test('an id that is taken is refused, by an open agent and by a closed one', async () => {
  const { workflow } = world([])
  await workflow.createAgent('helper', { id: 'agent-1' })
  const again = () => workflow.createAgent('helper', { id: 'agent-1' })
  await expect(again()).rejects.toThrow('there is an agent "agent-1" already, open or closed; send to that one, or')
  await workflow.closeAgent('agent-1')
  await expect(again()).rejects.toThrow('there is an agent "agent-1" already')
})

describe('an instance changes entries of its definition by their id', () => {
  const helper = definition('ask-question', 'summary')

  test('without naming the plugin again', async () => {
    const { workflow, provider } = world(['Hi.'], { definitions: [helper] })
    const { id } = await workflow.createAgent('helper', { config: { plugins: [{ id: 'summary', enabled: false }] } })
    await workflow.sendMsgToAgent(id, 'Hello')
    expect(provider.requests[0]!.tools.map(({ name }) => name)).toEqual(['ask-question'])
  })

  test.each([
    [
      { id: 'sumary', enabled: false },
      'config.plugins[0]: definition "helper" has no entry "sumary" to be changed, and a new one needs a toolId, did you mean "summary"?',
    ],
    [{ id: 'summary', toolId: 7 }, 'config.plugins[0].toolId must name a plugin, got 7'],
  ])('and %j is refused', async (entry, words) => {
    const { workflow } = world([], { definitions: [helper] })
    await expect(workflow.createAgent('helper', { config: { plugins: [entry as never] } })).rejects.toThrow(words)
  })

  test('and a change to an entry that no longer exists after a restart has no effect', async () => {
    const first = world([], { definitions: [helper] })
    const { id } = await first.workflow.createAgent('helper', {
      config: { plugins: [{ id: 'summary', enabled: false }] },
    })
    const { workflow, provider } = first.again({ definitions: [definition('ask-question')] })
    provider.push('Hi.')
    expect((await workflow.sendMsgToAgent(id, 'Hello')).message?.content).toBe('Hi.')
  })
})

describe('an invalid file is refused, and the message is not logged', () => {
  test.each([
    ['x.png', 'a file is { mediaType, data, name? }, data in base64, got "x.png"'],
    [{ path: '/tmp/x' }, 'file.mediaType must be a media type such as "image/png", got undefined'],
    [{ mediaType: 'png', data: 'AAAA' }, 'file.mediaType must be a media type such as "image/png", got "png"'],
    [{ mediaType: 'image/png' }, 'file.data must be base64, without "data:…," before it, got undefined'],
    [{ mediaType: 'image/png', data: '!!!notbase64' }, 'file.data must be base64'],
    [{ mediaType: 'image/png', data: 'data:image/png;base64,AAAA' }, 'file.data must be base64'],
    [{ mediaType: 'image/png', data: 'AAA' }, 'file.data must be base64'],
    [{ mediaType: 'image/png', data: '' }, 'file.data must be base64'],
    [{ mediaType: 'text/plain', data: 'AAAA', name: 7 }, 'file.name must be a text, got 7'],
  ])('%j', async (file, words) => {
    const { workflow, provider } = world([])
    const { id } = await workflow.createAgent('helper')
    await expect(workflow.sendMsgToAgent(id, { text: 'Look', file: file as never })).rejects.toThrow(
      `sendMsgToAgent: ${words}`,
    )
    expect(await workflow.getMessages(id)).toEqual([])
    expect(provider.requests).toEqual([])
  })
})

test.each([
  [
    () => {
      throw new Error('the file is gone')
    },
    'plugin "broken" failed at tools() for entry "b": the file is gone',
  ],
  [async () => [], 'plugin "broken": tools() must give a list of tools at once'],
])('a plugin whose tools cannot be had is named', async (tools, words) => {
  const broken = { toolId: 'broken', displayName: 'Broken', description: 'Broken.', tools } as never
  const { workflow } = world([], { plugins: [broken], definitions: [definition({ id: 'b', toolId: 'broken' })] })
  await expect(workflow.createAgent('helper')).rejects.toThrow(words)
})

test('unknown settings are refused, and the present ones stay', async () => {
  const settings = { approval: { look: { mode: 'confirm' } } } as const
  const { workflow } = world([], { settings })
  await expect(workflow.updateSettings({ retries: {} } as object)).rejects.toThrow('has no option "retries"')
  expect(workflow.settings).toEqual(settings)
})

describe('a misspelt name in a definition is reported, before anything runs unprotected', () => {
  const entry = (more: object) => ({
    ...definition(),
    config: { plugins: [{ id: 'q', toolId: 'ask-question', ...more }] },
  })
  const shifted = (position: string) => ({ targetId: 'system', position })

  test.each([
    [entry({ aproval: { mode: 'confirm' } }), 'plugin entry "q" has no field "aproval", did you mean "approval"?'],
    [entry({ enabld: false }), 'plugin entry "q" has no field "enabld", did you mean "enabled"?'],
    [
      entry({ askQuestonParam: {} }),
      'plugin entry "q" has no field "askQuestonParam", did you mean "askQuestionParam"',
    ],
    [
      { ...definition(), config: { plugins: [{ id: 's', toolId: 'summary', sumaryParam: {} }] } },
      'plugin entry "s" has no field "sumaryParam", did you mean "summaryParam"?',
    ],
    [
      { ...definition(), approval: { 'wiki-operatoin': { mode: 'confirm' } } },
      'definition "helper".approval: it has no tool "wiki-operatoin", did you mean "wiki-operation"?',
    ],
    [
      {
        ...definition(),
        config: { plugins: [{ id: 'p', toolId: 'dynamicPosition', dynamicPositionParam: shifted('abve') }] },
      },
      'plugin entry "p": dynamicPositionParam: position must be',
    ],
  ])('%j', async (one, words) => {
    const { workflow } = world([], { definitions: [one as never] })
    await expect(workflow.createAgent('helper')).rejects.toThrow(words)
  })

  test('two entries of one id, and a plugin with a field that does not exist', () => {
    const twice = {
      ...definition(),
      config: {
        plugins: [
          { id: 'q', toolId: 'a' },
          { id: 'q', toolId: 'b' },
        ],
      },
    }
    expect(made({ definitions: [twice] })).toThrow('plugins[1].id "q" stands twice')
    const odd = { toolId: 'odd', displayName: '', description: '', onProcesPrompts() {} }
    expect(made({ plugins: [odd] })).toThrow(
      'plugin "odd" has no field "onProcesPrompts", did you mean "onProcessPrompts"?',
    )
  })
})

test('C01 every agent has the thinking, the rules of all layers and the tools that its workflow says', async () => {
  const alarm = call('1', 'alarm-clock', { wakeAtISO: '2999-01-01T00:00:00Z' })
  const { workflow, provider } = world([[alarm], 'Refused.'], {
    definitions: [definition({ toolId: 'ask-question' }, { toolId: 'alarm-clock' })],
    ...{ thinking: 'high', withoutTools: ['ask-question'], authority: { layers: { global: { mode: 'plan' } } } },
  })
  const { id } = await workflow.createAgent('helper')
  await workflow.sendMsgToAgent(id, 'Wake up.')
  expect(provider.requests[0]).toMatchObject({ thinking: 'high', tools: [{ name: 'alarm-clock' }] })
  expect(texts(provider.requests[1]!.messages).at(-1)).toContain('plan')
})
