import { defineCommand } from '../command.ts'

export const command = defineCommand({
  name: 'demo',
  summary: 'Watch Libero fix a failing test, without a key or a network',
  details: [
    'The demo uses the offline model, a set of rules rather than a language model. Everything else is real: the tools, the permissions, the session in SQLite.',
    'It works in a temporary folder, which is removed at the end, and answers the one approval itself.',
  ],
  examples: [{ line: 'libero demo', says: 'Ends by itself, within seconds' }],
  run: async (_, io) => (await import('../demo/run-demo.ts')).runDemo(io),
})
