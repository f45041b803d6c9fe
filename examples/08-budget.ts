// A budget in dollars. A request that might exceed it is not sent: the run ends with what it has.
import { createAgent } from 'libero'
import { call, scripted, tool } from 'libero/testing'

const look = { text: 'Still looking.', calls: [call('1', 'look')], usage: { input: 2_000, output: 500 } }
const provider = scripted(...Array.from({ length: 100 }, () => look), {
  // What a million tokens cost; real providers know their prices.
  options: { costOf: (_, { input, output }) => (input * 3 + output * 15) / 1_000_000 },
})

const agent = createAgent({
  provider,
  tools: { look: tool('look', () => 'nothing yet') },
  behavior: { maxTokens: 2_000, limits: { cost: 0.1 } },
  hooks: {
    'limit:near': ({ limit, spent, max }) => console.log(`${limit}: ${spent.toFixed(4)} of ${max}, the model is told`),
    'limit:reached': ({ limit, spent, max }) => console.log(`${limit}: ${spent.toFixed(4)} of ${max}, the end`),
  },
})
const { status, stopReason, text, cost } = await agent.run({ prompt: 'Look until you see something.' })
console.log(`${status}, ${stopReason}: "${text}" ${provider.requests.length} requests, ${cost?.toFixed(4)} dollars.`)
