// Hooks: watch everything, refuse a call, change what the model sees.
import { createAgent } from 'libero'
import { call, scripted, tool } from 'libero/testing'

const provider = scripted(
  { text: 'Cleaning up.', calls: [call('1', 'shell', { command: 'rm -rf /' }), call('2', 'env')] },
  'I may not delete anything, and the token is hidden.',
)

const agent = createAgent({
  provider,
  tools: { shell: tool('shell', () => 'never reached'), env: tool('env', () => 'TOKEN=abc123 HOME=/home/me') },
  hooks: { 'stream:text': ({ delta }) => void process.stdout.write(delta) }, // for the life of the agent
})

// A gate may block a call or answer in its place. If it throws, the call is blocked.
agent.hooks.hook('tool:gate', (ctx) => {
  if (ctx.name === 'shell' && String(ctx.input.command).includes('rm -rf')) {
    ctx.block = true
    ctx.reason = 'deleting is not allowed here'
  }
})

// A transform changes the result before it is stored or sent.
agent.hooks.hook('tool:transform', (ctx) => {
  if (typeof ctx.result === 'string') ctx.result = ctx.result.replace(/TOKEN=\S+/, 'TOKEN=<hidden>')
})

await agent.run({
  prompt: 'Clean up, then show the environment.',
  hooks: { 'turn:after': ({ turn, usage }) => console.log(`\n[turn ${turn}: ${usage.output} tokens]`) }, // for this run
})
console.log(JSON.stringify(agent.turns.at(-2)?.content, null, 2))
