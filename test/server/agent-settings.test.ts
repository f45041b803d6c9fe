import { expect, onTestFinished, test } from 'vitest'
import type { Scope } from '../../src/server/caller.ts'
import { call, type Step, scripted } from '../../src/testing/scripted.ts'
import { definition, world } from '../workflow/kit.ts'
import { gated, startServer, until } from './server-kit.ts'

async function served(steps: readonly Step[], options: Parameters<typeof world>[1] = {}, limits = {}) {
  const { workflow, provider, store } = world(steps, options)
  onTestFinished(() => workflow.close())
  const started = await startServer({
    ...{ store, limits, workflowFor: async () => workflow },
    auth: {
      verify: ({ headers }) => {
        const tenant = headers.get('x-tenant')
        const scopes = headers.get('x-scopes')?.split(' ') as Scope[] | undefined
        return { user: 'ann', ...(tenant !== null && { tenant }), ...(scopes && { scopes }) }
      },
    },
  })
  const stateOf = async (id: string): Promise<string> =>
    (await started.send('GET', `/v1/agents/${id}`)).body.status.state
  return { ...started, workflow, provider, stateOf }
}

const alarm = (id: string) => [call(id, 'alarm-clock', { wakeAtISO: '2999-01-01T00:00:00Z' })] // it ends the run

test('WB31 approval, patterns and time limits of one agent are changed, and count from its next message on', async () => {
  const { send, stateOf, workflow } = await served([alarm('1'), alarm('2'), alarm('3')], {
    definitions: [definition({ toolId: 'alarm-clock', timeoutMs: 5000 })],
  })
  const tell = async (content: string): Promise<void> => {
    await send('POST', '/v1/agents/agent-a/messages', { content })
    await until(async () => !['working', 'submitted'].includes(await stateOf('agent-a')))
  }
  await send('POST', '/v1/agents', { definition: 'helper', id: 'agent-a' })
  await tell('go')
  expect(await stateOf('agent-a')).toBe('completed')
  const settings = async () => (await send('GET', '/v1/agents/agent-a/settings')).body
  expect(await settings()).toEqual({
    plugins: [
      {
        ...{ id: 'alarm-clock', toolId: 'alarm-clock', enabled: true, timeoutMs: 5000 },
        tools: [{ name: 'alarm-clock', rule: { mode: 'auto', timeoutMs: 5000 } }],
      },
    ],
  })
  const approval = { mode: 'confirm', denyPatterns: ['2998'] }
  const changed = await send('PATCH', '/v1/agents/agent-a', {
    name: 'Waker',
    maxIterations: 4,
    plugins: [{ id: 'alarm-clock', approval }],
  })
  expect([changed.status, changed.body]).toMatchObject([
    200,
    { name: 'Waker', maxIterations: 4, plugins: [{ approval, tools: [{ rule: { timeoutMs: 5000, ...approval } }] }] },
  ])
  await tell('again')
  expect(await stateOf('agent-a')).toBe('input-required')
  expect((await send('GET', '/v1/agents/agent-a')).body.name).toBe('Waker')
  await send('POST', '/v1/agents/agent-a/stop')
  await until(async () => (await stateOf('agent-a')) === 'canceled')
  const back = { name: null, plugins: [{ id: 'alarm-clock', approval: null }] }
  expect((await send('PATCH', '/v1/agents/agent-a', back)).body).not.toHaveProperty('name')
  expect((await workflow.getAgent('agent-a'))?.config).toEqual({ maxIterations: 4 })
  await tell('and again')
  expect(await stateOf('agent-a')).toBe('completed')
})

test('WB31 a wrong setting changes nothing, and the sentence names it', async () => {
  const fixed = { id: 'fixed', toolId: 'summary', forbidOverrides: true }
  const { send } = await served([], { definitions: [definition('alarm-clock', fixed)] })
  await send('POST', '/v1/agents', { definition: 'helper', id: 'agent-a' })
  const before = (await send('GET', '/v1/agents/agent-a/settings')).body
  for (const [change, status, sentence] of [
    [{ plugins: [{ id: 'alarm-clok', enabled: false }] }, 422, 'did you mean'],
    [{ plugins: [{ id: 'fixed', enabled: false }] }, 422, 'forbids changes'],
    [{ plugins: [{ id: 'alarm-clock', approval: { denyPatterns: ['('] } }] }, 422, 'denyPatterns'],
    [{ contextWindowSize: 0 }, 422, 'contextWindowSize'],
    [{ plugins: [{ id: 'alarm-clock', toolId: 'zx-script' }] }, 400, 'does not fit'],
    [{ config: {} }, 400, 'does not fit'],
  ] as const) {
    const answer = await send('PATCH', '/v1/agents/agent-a', change)
    expect([answer.status, answer.body.detail]).toEqual([status, expect.stringContaining(sentence)])
  }
  expect((await send('GET', '/v1/agents/agent-a/settings')).body).toEqual(before)
  expect((await send('PATCH', '/v1/agents/agent-a', { name: 'x' }, { 'x-scopes': 'read send' })).status).toBe(403)
  expect((await send('PATCH', '/v1/agents/agent-x', { name: 'x' })).status).toBe(404)
  const tenant = { 'x-tenant': 'acme' }
  expect((await send('PATCH', '/v1/agents/agent-a', { name: 'x' }, tenant)).status).toBe(404)
  expect((await send('GET', '/v1/agents/agent-a/settings', undefined, tenant)).status).toBe(404)
})

test('WB31 an agent at work is not changed', async () => {
  const { provider, open } = gated('Done.')
  const { send, stateOf } = await served([], { provider })
  await send('POST', '/v1/agents', { definition: 'helper', id: 'agent-a', message: 'go' })
  const answer = await send('PATCH', '/v1/agents/agent-a', { name: 'x' })
  expect([answer.status, answer.body.detail]).toEqual([422, expect.stringContaining('is at work')])
  open()
  await until(async () => (await stateOf('agent-a')) === 'completed')
  expect((await send('PATCH', '/v1/agents/agent-a', { name: 'x' })).status).toBe(200)
})

test('WB31 another process that has the agent loaded works with the changed settings', async () => {
  const definitions = [definition('alarm-clock')]
  const first = world([], { definitions })
  const second = first.again({ provider: scripted(alarm('1'), alarm('2')) })
  const { id } = await first.workflow.createAgent('helper')
  expect((await second.workflow.sendMsgToAgent(id, 'go')).state).toBe('completed')
  await first.workflow.updateAgent(id, { plugins: [{ id: 'alarm-clock', approval: { mode: 'confirm' } }] })
  expect((await second.workflow.sendMsgToAgent(id, 'again')).state).toBe('input-required')
  expect((await second.workflow.getAgentSettings(id)).plugins[0]?.approval).toEqual({ mode: 'confirm' })
  expect([first.errors, second.errors]).toEqual([[], []])
})

test('WB32 rules and retries of all agents are read and changed, but not by a tenant', async () => {
  const { send, stateOf } = await served([alarm('1')], { definitions: [definition('alarm-clock')] })
  expect((await send('GET', '/v1/agent-settings')).body).toEqual({ approval: {} })
  const wanted = { approval: { 'alarm-clock': { mode: 'confirm' } }, retry: { maxAttempts: 2, initialDelayMs: 5 } }
  const changed = await send('PATCH', '/v1/agent-settings', wanted)
  expect([changed.status, changed.body]).toEqual([200, wanted])
  await send('POST', '/v1/agents', { definition: 'helper', id: 'agent-a', message: 'go' })
  await until(async () => (await stateOf('agent-a')) === 'input-required')
  expect((await send('PATCH', '/v1/agent-settings', { retry: { backoffMultiplier: 0 } })).status).toBe(422)
  expect((await send('PATCH', '/v1/agent-settings', { approval: { x: { mode: 'never' } } })).status).toBe(400)
  expect((await send('GET', '/v1/agent-settings')).body).toEqual(wanted)
  for (const method of ['GET', 'PATCH'])
    expect(
      (await send(method, '/v1/agent-settings', method === 'GET' ? undefined : wanted, { 'x-tenant': 'a' })).status,
    ).toBe(501)
})

test('WB33 only so many agents of a tenant work at once; one at work takes further messages', async () => {
  const { provider, open } = gated('Done.', 'Done.', 'Done.', 'Done.')
  const { send, stateOf } = await served([], { provider }, { runs: 1 })
  const make = (id: string, message?: string) => send('POST', '/v1/agents', { definition: 'helper', id, message })
  expect((await make('agent-a', 'go')).status).toBe(201)
  const refused = await make('agent-b', 'go')
  expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([429, 'too_many_runs', '10'])
  expect((await send('GET', '/v1/agents/agent-b')).status).toBe(404)
  expect((await make('agent-b')).status).toBe(201)
  expect((await send('POST', '/v1/agents/agent-b/messages', { content: 'go' })).status).toBe(429)
  expect((await send('POST', '/v1/agents/agent-a/messages', { content: 'and' })).status).toBe(202)
  open()
  await until(async () => (await stateOf('agent-a')) === 'completed')
  await until(async () => (await send('POST', '/v1/agents/agent-b/messages', { content: 'go' })).status === 202)
  await until(async () => (await stateOf('agent-b')) === 'completed')
})

test('WB33 a first message that is refused leaves no agent, however often a client repeats it', async () => {
  const { provider, open } = gated('Done.', 'Done.')
  const { send, workflow } = await served([], { provider }, { runs: 1, messagesPerMinute: 2 })
  const make = () => send('POST', '/v1/agents', { definition: 'helper', message: 'go' })
  const count = async () => (await workflow.listAgents({ closed: true })).agents.length
  const together = await Promise.all([make(), make()])
  expect(together.map(({ status }) => status).toSorted()).toEqual([201, 429])
  expect(await count()).toBe(1)
  open()
  const refused = [await make(), await make(), await make()]
  expect(refused.map(({ body }) => body.code)).toEqual(Array(3).fill('too_many_messages'))
  expect(await count()).toBe(1)
})

test('WB34 a rewind gives content only to a caller who may read', async () => {
  const { send, stateOf } = await served(['One.', 'Two.'])
  await send('POST', '/v1/agents', { definition: 'helper', id: 'agent-a', message: 'secret' })
  await until(async () => (await stateOf('agent-a')) === 'completed')
  const [{ id: message }] = (await send('GET', '/v1/agents/agent-a/messages')).body.messages
  const rewound = await send('POST', '/v1/agents/agent-a/rewind', { message }, { 'x-scopes': 'send' })
  expect([rewound.status, rewound.body]).toEqual([200, {}])
})
