import { fileURLToPath } from 'node:url'
import { createAgent } from 'libero'
import { connectMcpServers, type McpServerConfig } from 'libero/mcp'
import { call, scripted } from 'libero/testing'
import { expect, onTestFinished, test } from 'vitest'

const server = (name: string): McpServerConfig => ({
  name,
  transport: 'stdio',
  command: process.execPath,
  args: [fileURLToPath(new URL('fixtures/named-tools.mjs', import.meta.url)), ...(name === 'a' ? ['b_c'] : ['c'])],
})

test('MC-03 if tools of two servers get one name, the first keeps it and the second is reported', async () => {
  const agent = createAgent({
    provider: scripted([call('c1', 'mcp_a_b_c', {})], 'done'),
    mcpServers: [server('a'), server('a_b')],
  })
  onTestFinished(() => agent.destroy())
  const errors: string[] = []
  agent.hooks.hook('mcp:error', ({ name, error }) => void errors.push(`${name}: ${(error as Error).message}`))
  await agent.run({ prompt: 'go' })
  expect(JSON.stringify(agent.turns)).toContain('b_c answers')
  expect(errors).toEqual([expect.stringMatching(/^a_b: The tool c .* "a" has; it is left out/)])
})

test('PI-02 a description names its server to the model', async () => {
  const connections = await connectMcpServers([server('a')])
  onTestFinished(() => connections.close())
  expect(connections.tools.mcp_a_b_c?.spec.description).toBe('(MCP server a) does b_c')
})

test('above a size of all definitions, tools of servers without disclosure are lazy', async () => {
  const configs = [server('a'), { ...server('x'), disclosure: 'eager' as const }]
  const connections = await connectMcpServers(configs, undefined, undefined, { lazyAbove: 10 })
  onTestFinished(() => connections.close())
  expect(connections.tools.mcp_a_b_c?.mcp?.disclosure).toBe('lazy')
  expect(connections.tools.mcp_x_c?.mcp?.disclosure).toBe('eager')
})
