// A plugin as it is written for TidGi, unchanged but for its imports: hooks in the form of tapable. Runs offline.
import { definePlugin, type HandlerPlugin, matchAllToolCallings } from 'libero/plugins'
import { scripted } from 'libero/testing'
import { createWorkflow } from 'libero/workflow'

const dicePlugin: HandlerPlugin = (hooks) => {
  hooks.processPrompts.tapAsync('dicePlugin', (context, callback) => {
    context.prompts.push({ id: 'dice', text: 'Roll dice with <tool_use name="roll">{"sides": 6}</tool_use>.' })
    callback(null, context)
  })
  hooks.responseComplete.tapAsync('dicePlugin', async (context, callback) => {
    try {
      const { handlerContext, response, requestId, actions } = context
      const call = matchAllToolCallings(response.content).calls.find(({ toolId }) => toolId === 'roll')
      if (response.status !== 'done' || !call) return callback()
      const { agent } = handlerContext
      const data = `4 of ${call.parameters.sides}`
      const metadata = { isToolResult: true, toolId: 'roll' }
      agent.messages.push({ id: requestId, agentId: agent.id, role: 'user', content: `Result: ${data}`, metadata })
      actions.yieldNextRoundTo = 'self'
      const toolInfo = { ...call, callId: requestId }
      await hooks.toolExecuted.promise({ handlerContext, toolResult: { success: true, data }, toolInfo, requestId })
      callback()
    } catch (error) {
      callback(error)
    }
  })
  hooks.toolExecuted.tapPromise('dicePlugin', async ({ toolInfo, toolResult }) => {
    console.log(`${toolInfo.toolId}: ${toolResult.data}`)
  })
}

const dice = definePlugin({ toolId: 'dice', displayName: 'Dice', description: 'Rolls dice.', register: dicePlugin })
const provider = scripted('<tool_use name="roll">{"sides": 6}</tool_use>', 'You rolled a four.')
const definitions = [{ id: 'player', config: { plugins: [{ id: 'dice', toolId: 'dice' }] } }]
const workflow = createWorkflow({ provider, definitions, plugins: [dice] })
const { id } = await workflow.createAgent('player')
console.log((await workflow.sendMsgToAgent(id, 'Roll a die.')).message?.content)
await workflow.close()
