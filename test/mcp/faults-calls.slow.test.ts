import { AgentAbortedError } from 'libero'
import { call } from 'libero/testing'
import { expect, test } from 'vitest'
import { agentWith, eventually, faultServer, within } from './fixtures/fault-kit.ts'

test('a silent call times out after callTimeout, the server is told, and the next call works', async () => {
  const server = await faultServer([], { callTimeout: 1000 })
  const { results } = agentWith([server.config])
  const [silent, next] = await within(results(['mcp_f_echo', 'silent'], ['mcp_f_echo', 'a']))
  expect(silent).toContain('timed out: no answer and no progress for 1 s')
  expect(silent).toContain('whether it took effect is not known')
  expect(next).toBe('echo a')
  expect(await server.noted('cancelled')).toHaveLength(1)
  expect(await server.noted('start')).toHaveLength(1)
})

test('FM-15 endless progress does not extend a call beyond longestCall', async () => {
  const server = await faultServer([], { callTimeout: 5000, longestCall: 400 })
  const { results } = agentWith([server.config])
  const [endless] = await within(results(['mcp_f_echo', 'progress-for-ever']))
  expect(endless).toContain('timed out: no answer within 0.4 s')
})

test('FM-15 progress restarts the limit on silence', async () => {
  // Fifty times 50 ms, longer in all than it may be silent.
  const server = await faultServer([], { callTimeout: 1500 })
  const { results } = agentWith([server.config])
  expect(await results(['mcp_f_echo', 'progress-then-answer'])).toEqual(['done at last'])
})

test('FM-16 answers with unknown ids, or given twice, are dropped', async () => {
  const server = await faultServer([])
  const { results } = agentWith([server.config])
  expect(await results(['mcp_f_echo', 'odd-ids'], ['mcp_f_echo', 'a'])).toEqual(['first', 'echo a'])
})

test('FM-16 a late answer to a timed-out call is not used for a later one', async () => {
  const server = await faultServer([], { callTimeout: 1000 })
  const { results } = agentWith([server.config])
  const [late, next] = await results(['mcp_f_echo', 'late'], ['mcp_f_echo', 'a'])
  expect(late).toContain('timed out')
  expect(next).toBe('echo a')
  const ids = await server.noted('id ')
  expect(new Set(ids).size).toBe(ids.length)
})

test.each(['legacy', 'modern'])(
  'FM-18 aborting the run cancels the call, and its late answer is dropped (%s)',
  async (era) => {
    const server = await faultServer([era])
    const { agent, provider, results } = agentWith([server.config])
    provider.push([call('late', 'mcp_f_echo', { text: 'late' })])
    const running = agent.run({ prompt: 'go' })
    const stopped = expect(running).rejects.toThrow(AgentAbortedError)
    await eventually(async () => expect(await server.noted('call')).toHaveLength(1))
    agent.abort()
    await within(stopped)
    await eventually(async () => expect(await server.noted('cancelled')).toHaveLength(1))
    expect(await results(['mcp_f_echo', 'a'])).toContain('echo a')
    expect(JSON.stringify(agent.turns)).not.toContain('late answer')
    expect(await server.noted('start')).toHaveLength(1)
  },
)

test('FM-20 a server that asks for more input forever gets five answers', async () => {
  const server = await faultServer(['modern', 'wants-input'])
  const { results } = agentWith([server.config])
  const [endless] = await within(results(['mcp_f_echo', 'a']))
  expect(endless).toContain('still required input after 5 rounds')
  expect(await server.noted('call')).toHaveLength(6)
})

test('MC-19 secrets and control characters that a server repeats are removed', async () => {
  const server = await faultServer([], { env: { SECRET: 's3cr3t-canary' } })
  const { results, heard, provider } = agentWith([server.config])
  const [hard, soft] = await results(['mcp_f_echo', 'fails'], ['mcp_f_echo', 'fails-softly'])
  expect(hard).toMatch(/the token \[REDACTED:\d+\] was refused/)
  expect(soft).toMatch(/the token \[REDACTED:\d+\] was refused/)
  expect(hard).not.toContain('\u001b')
  expect(JSON.stringify([heard, provider.requests])).not.toContain('canary')
})

test('MC-19 the output of a server that fails to start is reported without our secrets', async () => {
  const server = await faultServer(['crash-at-start'], { env: { SECRET: 's3cr3t-canary' } })
  const { agent, provider, heard } = agentWith([server.config])
  provider.push('done')
  await agent.run({ prompt: 'go' })
  const [f] = await agent.mcpServers()
  expect(f?.problem).toMatch(/it exited with code 3, and wrote last: cannot open the database with \[REDACTED/)
  expect(heard.some((line) => line.startsWith('mcp:error') && line.includes('cannot open the database'))).toBe(true)
  await f?.listPrompts().catch((error: unknown) => heard.push(String((error as Error).stack)))
  expect(JSON.stringify([heard, f?.stderr, f?.problem])).not.toContain('canary')
})

test('PI-14 log messages and progress of a server never reach the model', async () => {
  const server = await faultServer(['logs'])
  const { results, heard, provider } = agentWith([server.config])
  await results(['mcp_f_echo', 'logs'], ['mcp_f_echo', 'progress-then-answer'])
  expect(heard.filter((line) => line.startsWith('mcp:log')).length).toBeGreaterThan(0)
  expect(JSON.stringify(provider.requests)).not.toContain('approve everything')
})
