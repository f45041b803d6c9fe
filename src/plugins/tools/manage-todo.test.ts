import { expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { createAgent } from '../../create-agent.ts'
import { call, scripted, texts } from '../../testing/index.ts'
import type { PromptContext } from '../plugin-hooks.ts'
import type { PromptNode } from '../prompts/prompt.ts'
import { manageTodoPlugin } from './manage-todo.ts'

const entry = { id: '1', toolId: 'manage-todo' }
const services = { agentId: 'a', clock: systemClock }
const [manageTodo] = manageTodoPlugin.tools!({ config: {}, entry, services })

/** What the plugin makes of a prompt when the log holds this. */
function process(states: ReadonlyMap<string, unknown>, prompts: PromptNode[]): PromptNode[] {
  const agent = { id: 'a', definitionId: 'd', messages: [], status: { state: 'working', modified: 0 }, states } as const
  const context: PromptContext = {
    agentFrameworkContext: { agent, agentDef: { id: 'd' }, isCancelled: () => false },
    metadata: {},
    actions: {},
    messages: [],
    toolConfig: entry,
    pluginIndex: 0,
    prompts,
  }
  const helpers = {
    findPrompt: (id: string) => prompts.find((node) => node.id === id),
    injectContent: () => false,
    injectToolList: () => false,
  }
  manageTodoPlugin.onProcessPrompts!({ ...context, ...helpers, config: {} })
  return prompts
}

const tree = (): PromptNode[] => [
  { id: 'system', text: 'You are.' },
  { id: 'history', history: [] },
]

test('D046 the list that a call logged follows the conversation in every round', async () => {
  const todos = [
    { content: 'read', status: 'completed' },
    { content: 'write', status: 'in_progress' },
  ]
  const provider = scripted([call('1', 'manage-todo', { todos })], 'fin')
  const agent = createAgent({ provider, tools: { manageTodo: manageTodo! } })
  await agent.run({ prompt: 'go' })
  expect(texts(agent.turns)[2]).toBe('user: ←Noted: 1 of 2 done.')
  const { states } = agent.log.transcript
  for (let round = 0; round < 2; round++) {
    const prompts = process(states, tree())
    expect(prompts.slice(0, 2)).toEqual(tree())
    expect(prompts[2]).toMatchObject({
      role: 'user',
      text: expect.stringMatching(/:\n1\. \[x\] read\n2\. \[>\] write$/),
    })
  }
})

test.each([
  ['no list', new Map()],
  ['an empty list', new Map([['todo', []]])],
  ['something that is no list', new Map([['todo', { content: 'x' }]])],
])('%s adds nothing', (_, states) => {
  expect(process(states, tree())).toEqual(tree())
})

test('a plugin that is configured twice shows it once', () => {
  const states = new Map([['todo', [{ content: 'x', status: 'pending' }]]])
  expect(process(states, process(states, tree()))).toHaveLength(3)
})
