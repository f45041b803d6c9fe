import { afterEach, expect, test, vi } from 'vitest'
import { createAgent } from '../../create-agent.ts'
import { scripted } from '../../testing/scripted.ts'
import { createMcpAgentServer } from './agent-server.ts'
import { createMcpToken } from './http-guard.ts'
import { loadServerSdk } from './load-server-sdk.ts'

vi.mock('./load-server-sdk.ts', { spy: true })
afterEach(() => vi.restoreAllMocks())

function open() {
  const problems: string[] = []
  const server = createMcpAgentServer({
    name: 'a',
    version: '1',
    agent: () => createAgent({ provider: scripted() }),
    onError: (problem) => problems.push(problem),
  })
  const token = createMcpToken()
  const send = async () => (await server.fetch(new Request('http://localhost/'), { token })).status
  vi.mocked(loadServerSdk).mockRejectedValueOnce(new Error('the package is not installed'))
  return { server, send, problems }
}

test('a failure to start serving HTTP is reported, and the next request tries again', async () => {
  const { server, send, problems } = open()
  await expect(send()).rejects.toThrow('not installed')
  expect(problems).toEqual(['the package is not installed'])
  expect(await send()).toBe(401)
  await server.close()
})

test('the server closes also after such a failure', async () => {
  const { server, send } = open()
  const failing = expect(send()).rejects.toThrow()
  await server.close()
  await failing
})
