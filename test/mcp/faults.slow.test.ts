import { expect } from 'vitest'
import { testInTurns } from '../soak.ts'
import { agentWith, eventually, faultServer, within } from './fixtures/fault-kit.ts'

const test = testInTurns(2)

test('FM-01 a server that crashes during a call fails that call only: it is restarted, and the call is not repeated', async () => {
  const server = await faultServer([])
  const { results, heard } = agentWith([server.config])
  const [before, crashed, after] = await results(['mcp_f_echo', 'a'], ['mcp_f_echo', 'crash'], ['mcp_f_echo', 'b'])
  expect([before, after]).toEqual(['echo a', 'echo b'])
  expect(crashed).toContain('was lost on the way')
  expect(crashed).toContain('Whether it took effect is not known')
  expect(await server.noted('call')).toEqual(['call echo a', 'call echo crash', 'call echo b'])
  expect(await server.noted('start')).toHaveLength(2)
  expect(heard.join()).toContain('it exited with code 7')
})

test('FM-01 a call that is safe to repeat is sent again, once', async () => {
  const server = await faultServer([], { repeatable: ['echo'] })
  const { results } = agentWith([server.config])
  const [crashed] = await results(['mcp_f_echo', 'crash'])
  expect(crashed).toContain('was lost on the way')
  expect(await server.noted('call')).toEqual(['call echo crash', 'call echo crash'])
})

test('FM-01 the end of one server does not affect a call of another in the same turn', async () => {
  const bad = await faultServer([])
  const good = await faultServer([], { name: 'g' })
  const { results } = agentWith([bad.config, good.config])
  const answers = await results(['mcp_f_echo', 'crash'], ['mcp_g_echo', 'a'])
  expect(answers[1]).toBe('echo a')
  expect(await good.noted('start')).toHaveLength(1)
})

test('A201 FM-02 a server that hangs times out, and the others connect', async () => {
  const [hanging, good] = [await faultServer(['hang'], { bootstrapTimeout: 300 }), await faultServer([], { name: 'g' })]
  const { results, heard, agent } = agentWith([hanging.config, good.config])
  expect(await within(results(['mcp_g_echo', 'a']))).toEqual(['echo a'])
  expect(heard.find((line) => line.startsWith('mcp:error'))).toContain(
    'The MCP server \\"f\\" was not ready within 0.3 s',
  )
  const [f, g] = await agent.mcpServers()
  expect(['waiting', 'connecting']).toContain(f?.state)
  expect(f?.problem).toContain('raise its bootstrapTimeout')
  expect(g?.state).toBe('ready')
})

test('FM-02 a server that never lists its tools times out', async () => {
  const server = await faultServer(['slow-list'], { bootstrapTimeout: 1000 })
  const { agent, heard, provider } = agentWith([server.config])
  provider.push('done')
  await within(agent.run({ prompt: 'go' }))
  expect(heard.join()).toContain('was not ready within 1 s')
})

test.each([
  ['an odd error', ['odd-error'], ['probe', 'initialize'], '2025-11-25'],
  ['silence', ['silent-probe'], ['probe', 'initialize'], '2025-11-25'],
  ['the version it wants', ['wrong-version'], ['probe', 'probe'], '2026-07-28'],
  ['its own end', ['exit-on-probe'], ['probe', 'initialize'], '2025-11-25'],
  ['the new protocol', ['modern'], ['probe'], '2026-07-28'],
])('FM-03 a server that answers the probe with %s gets the protocol it needs', async (_, modes, greeting, version) => {
  const server = await faultServer(modes, { bootstrapTimeout: 6000 })
  const { results, agent } = agentWith([server.config])
  expect(await results(['mcp_f_echo', 'a'])).toEqual(['echo a'])
  expect((await server.ledger()).filter((line) => line === 'probe' || line === 'initialize')).toEqual(greeting)
  expect((await agent.mcpServers())[0]?.protocolVersion).toBe(version)
})

test('FM-04 plain text on stdout is skipped', async () => {
  const server = await faultServer(['noise'])
  const { results } = agentWith([server.config])
  expect(await results(['mcp_f_echo', 'noise'], ['mcp_f_echo', 'a'])).toEqual(['echo noise', 'echo a'])
})

test('FM-04 a server that writes only plain text is disabled, with the reason', async () => {
  const server = await faultServer(['endless-noise'])
  const { agent, provider, heard } = agentWith([server.config])
  provider.push('done')
  await within(agent.run({ prompt: 'go' }))
  const [f] = await agent.mcpServers()
  expect(f?.state).toBe('disabled')
  expect(f?.problem).toContain('it wrote 100 lines that are no messages')
  expect(heard.filter((line) => line.startsWith('mcp:reconnect'))).toEqual([])
})

test('FM-05 MC-01 a line of 20 MB ends the server with a reason; the next call works', async () => {
  const server = await faultServer([])
  const { results, heard } = agentWith([server.config])
  const [big, next] = await results(['mcp_f_echo', 'too-big'], ['mcp_f_echo', 'a'])
  expect(big).toContain('was lost on the way')
  expect(big).toContain('it sent a line longer than 16 MB')
  expect(big?.length).toBeLessThan(1000)
  expect(heard.join()).toContain('it sent a line longer than 16 MB')
  expect(next).toBe('echo a')
})

test('FM-05 an incomplete line and an exit lose the call', async () => {
  const server = await faultServer([])
  const { results } = agentWith([server.config])
  const [half, next] = await results(['mcp_f_echo', 'half-line'], ['mcp_f_echo', 'a'])
  expect(half).toContain('was lost on the way')
  expect(next).toBe('echo a')
})

test('MC-01 a result of 8 MB is cut', async () => {
  const server = await faultServer([])
  const { results } = agentWith([server.config])
  const [big, next] = await results(['mcp_f_echo', 'big'], ['mcp_f_echo', 'a'])
  expect(big?.length).toBeGreaterThan(1000)
  expect(big?.length).toBeLessThan(1_000_000)
  expect(next).toBe('echo a')
})

test('FM-06 a byte order mark and blank lines are tolerated', async () => {
  const server = await faultServer(['bom'])
  const { results } = agentWith([server.config])
  expect(await results(['mcp_f_echo', 'a'])).toEqual(['echo a'])
})

test('FM-19 20 MB on stderr are read and cut, and the call works', async () => {
  const server = await faultServer([])
  const { results, agent } = agentWith([server.config])
  expect(await results(['mcp_f_echo', 'flood-stderr'])).toEqual(['echo flood-stderr'])
  const [f] = await agent.mcpServers()
  await eventually(() => expect(f?.stderr?.length).toBeGreaterThan(60_000))
  expect(f?.stderr?.length).toBeLessThanOrEqual(64 * 1024)
  expect(f?.stderr).not.toContain('\u001b')
})

test('an invalid result is reported as such', async () => {
  const server = await faultServer([])
  const { results } = agentWith([server.config])
  const [garbage, next] = await results(['mcp_f_echo', 'garbage'], ['mcp_f_echo', 'a'])
  expect(garbage).toMatch(/cannot be understood/)
  expect(next).toBe('echo a')
})
