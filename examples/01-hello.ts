// An agent, whole. The model is a script so that this runs without a key; any other provider takes its place.
import { createAgent } from 'libero'
import { call, scripted } from 'libero/testing'

const provider = scripted(
  { text: 'Let me look at the clock.', calls: [call('1', 'clock', { zone: 'UTC' })] },
  ({ messages }) => `It is ${JSON.stringify(messages.at(-1)?.content).match(/\d\d:\d\d/)?.[0]} in UTC.`,
)

const clock = {
  spec: {
    name: 'clock',
    description: 'Tells the time in a zone.',
    inputSchema: { type: 'object', properties: { zone: { type: 'string' } }, required: ['zone'] },
  },
  execute: ({ zone }: { zone: string }) => new Date().toLocaleTimeString('en-GB', { timeZone: zone }),
}

const agent = createAgent({ provider, tools: { clock } })
const stats = await agent.run({ prompt: 'What time is it?' })
console.log(stats.text)
console.log(`${stats.turns} turns`)
