import { expect, test } from 'vitest'
import { scripted } from '../../testing/index.ts'
import { createWorkflow } from '../workflow.ts'
import { builtInDefinitions } from './built-in-definitions.ts'

test.each(builtInDefinitions.map(({ id }) => id))('an agent can be made of the definition "%s"', async (id) => {
  const provider = scripted('Hello.')
  const workflow = createWorkflow({ provider, definitions: builtInDefinitions })
  const agent = await workflow.createAgent(id)
  const { state, message } = await workflow.sendMsgToAgent(agent.id, 'hello')
  expect([state, message?.content]).toEqual(['completed', 'Hello.'])
  const plugins = builtInDefinitions.find((one) => one.id === id)!.config!.plugins!
  const [request] = provider.requests
  expect(request!.tools.map(({ name }) => name).sort()).toEqual(plugins.map(({ toolId }) => toolId).sort())
  expect(request!.system).toContain(id === 'assistant' ? 'list-schedules' : 'librarian')
  await workflow.close()
})
