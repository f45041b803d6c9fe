import { expect, test } from 'vitest'
import { createRemoteClient } from '../../src/client/index.ts'
import type { ServerOptions } from '../../src/server/index.ts'
import { call, scripted } from '../../src/testing/index.ts'
import { listen, remote } from './http-kit.ts'
import { startServer, tool, until } from './server-kit.ts'

const workspace: ServerOptions['workspaceFor'] = async () => ({
  settings: async () => ({ model: { provider: 'scripted', model: 'm', contextWindow: 1000 } }),
  costOf: async () => async (_model, usage) => usage.input / 100 + usage.output / 10,
  findDecision: async (_session, callId) =>
    callId === 'c1'
      ? { decision: { verdict: 'allow', by: 'allow-rule', rule: 'publish', why: 'a rule allows it', effects: [] } }
      : undefined,
  async close() {},
})

/** A session in which a tool was called after a person allowed it. */
async function called(options: Partial<ServerOptions> = {}) {
  const script = scripted([call('c1', 'publish', { to: 'npm' })], 'Published.')
  const tools = { publish: tool('publish', { gated: true }) }
  const server = await startServer({ provider: () => script, tools, ...options })
  await server.send('POST', '/v1/sessions', { id: 'a', message: 'Publish it, please.' })
  await until(async () => (await server.store.find('a'))?.status === 'waiting')
  const { digest } = (await server.send('GET', '/v1/pending')).body.pending[0]
  await server.send('POST', '/v1/sessions/a/answers/c1', { decision: 'allow', digest })
  await until(async () => (await server.store.find('a'))?.status === 'idle')
  return server
}

test('WB08 the context tells what fills it by kind, its limit, and what the next call will cost', async () => {
  const { send } = await called({ workspaceFor: workspace })
  const { body } = await send('GET', '/v1/sessions/a/context')
  const { parts, counts, total, limit } = body
  expect(limit).toBe(1000)
  expect(parts.map(({ name }: { name: string }) => name)).toEqual([
    'instructions and tools',
    'your messages',
    'tool calls',
    'tool results',
    'answers',
  ])
  expect(counts.user).toBeGreaterThan(0)
  expect(counts.assistant).toBeGreaterThan(0)
  expect(counts.toolResults).toBeGreaterThan(0)
  expect(counts.system + counts.user + counts.assistant + counts.toolResults).toBe(total)
  const longer = await send('GET', `/v1/sessions/a/context?draft=${'word%20'.repeat(100)}`)
  expect(longer.body.forecast.likely).toBeGreaterThan(body.forecast.likely)
  expect(body.forecast.most).toBeGreaterThanOrEqual(body.forecast.likely)
})

test('WB08 a draft of any length is counted: it is sent in the body', async () => {
  const { server } = await called({ workspaceFor: workspace })
  const { url } = await listen(server.fetch)
  const { sessions } = createRemoteClient(remote(url))
  const [none, long] = [await sessions.context('a'), await sessions.context('a', { draft: 'word '.repeat(20_000) })]
  expect(long.forecast!.likely).toBeGreaterThan(none.forecast!.likely)
})

test('WB08 without prices and limits the context is told without them', async () => {
  const { send } = await called()
  const { body } = await send('GET', '/v1/sessions/a/context')
  expect([body.limit, body.forecast, body.total > 0]).toEqual([undefined, undefined, true])
})

test('WB09 why a call was decided as it was: the rule, the question, the answer, and what would change it', async () => {
  const { send } = await called({ workspaceFor: workspace })
  const { body } = await send('GET', '/v1/sessions/a/calls/c1/why')
  expect(body).toMatchObject({
    ...{ callId: 'c1', name: 'publish', input: { to: 'npm' } },
    decision: { verdict: 'allow', by: 'allow-rule', rule: 'publish' },
    answer: { decision: 'allow', by: 'user' },
  })
  expect(body.lines).toEqual([
    'allowed: a rule allows it',
    'decided by: the allow rule publish',
    'what would change it: an ask or deny rule, or removing that rule',
    expect.stringMatching(/^asked because: /),
    'answered: allow by user',
  ])
  expect((await send('GET', '/v1/sessions/a/calls/c2/why')).body.code).toBe('no_call')
})

test('WB09 without an audit the log tells what the person said', async () => {
  const { send } = await called()
  const { body } = await send('GET', '/v1/sessions/a/calls/c1/why')
  expect(body.decision).toBeUndefined()
  expect(body.lines.at(-1)).toBe('answered: allow by user')
})

test('WB16 the copies of a session are listed with where each begins, for their tenant alone', async () => {
  let tenant = 'red'
  const { send, store } = await startServer({ auth: { verify: () => ({ user: 'ann', tenant }) } })
  await send('POST', '/v1/sessions', { id: 'a' })
  await send('POST', '/v1/sessions/a/label', { text: 'begin' })
  const { head } = (await store.find('red.a'))!
  await send('POST', '/v1/sessions/a/fork', { id: 'b' })
  await send('POST', '/v1/sessions/b/fork', { id: 'c', at: 1 })
  const text = (await send('GET', '/v1/sessions/a/export')).body
  tenant = 'blue'
  await send('POST', '/v1/sessions/import?id=stolen', text, { 'content-type': 'application/jsonl' })
  tenant = 'red'
  const { forks } = (await send('GET', '/v1/sessions/a/forks')).body
  const byId = Object.fromEntries(forks.map((one: { id: string }) => [one.id, one]))
  expect(Object.keys(byId).sort()).toEqual(['a', 'b', 'c'])
  expect(byId.a).toMatchObject({ labels: [{ seq: head, text: 'begin' }] })
  expect(byId.a.origin).toBeUndefined()
  expect(byId.b.origin).toEqual({ session: 'a', seq: head })
  expect(byId.c.origin).toEqual({ session: 'b', seq: 1 })
})
