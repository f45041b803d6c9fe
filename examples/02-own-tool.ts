// A tool with a typed input, and what a tool may say about itself.
import { createAgent, defineTool } from 'libero'
import { call, scripted } from 'libero/testing'
import { z } from 'zod'

const prices = new Map([
  ['apple', 1.2],
  ['pear', 1.5],
])

const price = defineTool({
  name: 'price',
  description: 'Looks up what a fruit costs.',
  input: z.object({ fruit: z.string(), count: z.number().int().default(1) }),
  isConcurrencySafe: true, // may run beside its neighbours
  replay: 'pure', // may run again after a crash
  timeoutMs: 5_000,
  execute({ fruit, count }) {
    const one = prices.get(fruit)
    if (one === undefined) throw new Error(`no price for ${fruit}; known: ${[...prices.keys()].join(', ')}`)
    return { output: `${(one * count).toFixed(2)} euros`, details: { one, count } }
  },
})

// "3" is a string: models do that, and the input is repaired before the tool sees it. A failure is text the model reads.
const provider = scripted(
  [call('1', 'price', { fruit: 'apple', count: '3' }), call('2', 'price', { fruit: 'kiwi' })],
  'Three apples cost 3.60 euros; kiwis we do not have.',
)

const agent = createAgent({ provider, tools: { price } })
await agent.run({ prompt: 'What do three apples and a kiwi cost?' })
for (const turn of agent.turns) console.log(turn.role, JSON.stringify(turn.content))
