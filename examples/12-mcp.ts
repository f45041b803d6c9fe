// Tools of MCP servers. One server is real (`server-everything`, over stdio), one is not there; rules decide what may be called.
import { createAgent } from 'libero'
import { call, scripted } from 'libero/testing'

const everything = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'
const agent = createAgent({
  provider: scripted(
    [call('1', 'mcp_demo_get-sum', { a: 2, b: 40 }), call('2', 'mcp_demo_get-sum', { a: 'two' })],
    [call('3', 'mcp_demo_trigger-long-running-operation', { duration: 0.2, steps: 2 }), call('4', 'mcp_demo_get-env')],
    'The sum is 42.',
  ),
  mcpServers: [
    { name: 'demo', transport: 'stdio', command: process.execPath, args: [everything, 'stdio'], callTimeout: 10_000 },
    { name: 'gone', transport: 'streamable-http', url: 'http://127.0.0.1:9/mcp' }, // no server listens there
  ],
  // Without rules each call would be asked about; what a server says of its tools' harmlessness does not count.
  authority: { mode: 'ask', allow: ['mcp:demo.*'], deny: ['mcp:demo.get-env'] },
})

agent.hooks.hook('mcp:bootstrap:end', ({ name, ok }) => console.log(`${name}: ${ok ? 'connected' : 'not connected'}`))
agent.hooks.hook('tool:progress', ({ text }) => console.log(`  … ${text}`))
agent.hooks.hook('validation:reject', ({ name }) => console.log(`${name}: the arguments do not fit`))
agent.hooks.hook('tool:decision', ({ name, decision: { verdict, why } }) => console.log(`${name}: ${verdict}, ${why}`))
agent.hooks.hook('tool:after', ({ result }) => console.log(`  ${String(result)}`))
console.log((await agent.run({ prompt: 'What is 2 + 40?' })).text)

// For the program itself: states, prompts and resources. Nothing of them reaches a model by itself.
for (const server of await agent.mcpServers()) {
  console.log(`${server.name}: ${server.state}, ${server.toolNames.length} tools`)
  if (server.state === 'ready')
    console.log(`  prompts: ${(await server.listPrompts()).map(({ name }) => name).join(', ')}`)
}
await agent.destroy() // and nothing of the server is left
