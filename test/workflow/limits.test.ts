import { expect, test } from 'vitest'
import { call, type Step } from '../../src/testing/scripted.ts'
import type { AgentDefinition } from '../../src/workflow/definitions/definition.ts'
import { definition, withTool, world } from './kit.ts'

test('a limit of a definition includes its sub-agents: their use counts', async () => {
  const digging: AgentDefinition = { id: 'digger', config: { plugins: [{ id: 'dig', toolId: 'dig' }] } }
  const boss: AgentDefinition = {
    ...definition({ toolId: 'spawn-agent', approval: { mode: 'auto' } }),
    behavior: { limits: { turns: 6 } },
  }
  const spawn = call('s', 'spawn-agent', { task: 'Dig for ever', agentDefinitionId: 'digger' })
  const forEver = Array.from({ length: 20 }, (_, n): Step => [call(`d${n}`, 'dig')])
  const { workflow, provider } = world([[spawn], ...forEver], {
    definitions: [boss, digging],
    plugins: [withTool('dig', () => 'earth')],
  })
  const { id } = await workflow.createAgent('helper')
  const status = await workflow.sendMsgToAgent(id, 'Find gold')
  expect(provider.requests).toHaveLength(6)
  expect(status).toMatchObject({
    state: 'completed',
    message: { content: expect.stringContaining('a limit of what it may use up') },
  })
})
