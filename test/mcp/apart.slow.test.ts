import { expect, test } from 'vitest'
import { agentWith, faultServer } from './fixtures/fault-kit.ts'

test('MC-11 a server cannot use our model', async () => {
  const server = await faultServer([])
  const { results, provider } = agentWith([server.config])
  const [said] = await results(['mcp_f_echo', 'sample'])
  expect(said).toMatch(/sampling: .*error.*(-32601|not supported|Method not found)/i)
  expect(provider.requests).toHaveLength(2) // the two turns of the run, and nothing of the server's
})

test('MC-15 two agents with one server have separate connections and answers', async () => {
  const server = await faultServer([])
  const agents = [agentWith([server.config]), agentWith([server.config])]
  const said = await Promise.all(
    agents.map(({ results }, i) =>
      results(...[1, 2, 3].map((n): [string, string] => ['mcp_f_echo', `agent ${i} call ${n}`])),
    ),
  )
  expect(said).toEqual([0, 1].map((i) => [1, 2, 3].map((n) => `echo agent ${i} call ${n}`)))
  expect(await server.noted('start ')).toHaveLength(2)
})

test.each([['legacy'], ['modern']])('a listener for server logs makes them requested (%s)', async (era) => {
  const server = await faultServer(era === 'modern' ? ['modern'] : [])
  const { results } = agentWith([server.config])
  await results(['mcp_f_echo', 'x'])
  expect(await server.noted('level ')).toEqual(['level info'])
})
