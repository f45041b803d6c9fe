import { defineCommand } from '../command.ts'

export const command = defineCommand({
  name: 'demo',
  summary: 'Watch it fix a failing test, without a key or a network',
  details: [
    'The model is the offline one: rules, not a language model. Everything else is real: the tools, the permissions, the session in SQLite.',
    'It works in a folder of its own, which is removed when it ends; the one approval is answered by the demo itself.',
  ],
  examples: [{ line: 'libero demo', says: 'Ends by itself, within seconds' }],
  run: async (_, io) => (await import('../demo/run-demo.ts')).runDemo(io),
})
