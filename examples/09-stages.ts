// A task in stages: plan, build, verify. Each has its own instructions, tools and end; a failed check goes back to build.
import { createAgent } from 'libero'
import { createStateMachine, type Stage } from 'libero/authority'
import { call, scripted, tool } from 'libero/testing'

const stage = (id: string, allowedTools: string[], next: Stage['next']): Stage => ({
  ...{ id, allowedTools, next, body: `Stage: ${id}.`, turnCap: 10, completionTool: `finish_${id}` },
  completionSchema: { type: 'object', properties: { isGood: { type: 'boolean' } } },
})
const stateMachine = createStateMachine({
  start: 'plan',
  stages: [
    stage('plan', ['read'], () => 'build'),
    {
      ...stage('build', ['read', 'write'], () => 'verify'),
      // Asked about every other tool; a yes counts for this one call.
      grantStageTool: ({ tool }) => (tool === 'install' ? 'approve' : 'deny'),
    },
    stage('verify', ['check'], ({ completion }) => ((completion as { isGood?: boolean }).isGood ? undefined : 'build')),
  ],
})

const tools = Object.fromEntries(['read', 'write', 'install', 'check'].map((name) => [name, tool(name, () => 'done')]))
const provider = scripted(
  [call('1', 'read'), call('2', 'write')], // too early: nothing is written while planning
  [call('3', 'finish_plan')],
  [call('4', 'write'), call('5', 'install')],
  [call('6', 'finish_build')],
  [call('7', 'check'), call('8', 'finish_verify', { isGood: false })],
  [call('9', 'write'), call('10', 'finish_build')],
  [call('11', 'finish_verify', { isGood: true })],
)
const agent = createAgent({ provider, tools, authority: { mode: 'ask', stateMachine } })
agent.hooks.hook('tool:decision', ({ name, decision: { verdict, by } }) =>
  console.log(`${stateMachine.stage}: ${name} ${verdict} (${by})`),
)
const { status } = await agent.run({ prompt: 'Build it.' })
console.log(`${status}, machine ${stateMachine.status} after ${provider.requests.length} turns`)
