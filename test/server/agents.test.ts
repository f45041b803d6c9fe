import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createProcessContext } from '../../src/execution/process.ts'
import { definePlugin } from '../../src/plugins/plugin.ts'
import { call, type Step } from '../../src/testing/scripted.ts'
import { writeFile as writeFileTool } from '../../src/tools/write-file.ts'
import { temporary } from '../temporary.ts'
import { definition, world } from '../workflow/kit.ts'
import { startServer, until } from './server-kit.ts'

const everyHour = { type: 'interval', everySeconds: 3600 }

async function served(steps: readonly Step[], options: Parameters<typeof world>[1] = {}) {
  const { workflow, provider, store } = world(steps, options)
  onTestFinished(() => workflow.close())
  const started = await startServer({
    store,
    workflowFor: async () => workflow,
    auth: {
      verify: ({ headers }) => {
        const tenant = headers.get('x-tenant')
        return { user: 'ann', ...(tenant !== null && { tenant }) }
      },
    },
  })
  const stateOf = async (id: string): Promise<string> =>
    (await started.send('GET', `/v1/agents/${id}`)).body.status.state
  return { ...started, workflow, provider, stateOf }
}

test('SV38 an agent is made, told, read, rewound, closed and deleted over HTTP', async () => {
  const { send, stateOf, provider, errors } = await served(['Tidy.', 'Tidier.'])
  expect((await send('GET', '/v1/definitions')).body.definitions).toEqual([expect.objectContaining({ id: 'helper' })])
  const made = await send('POST', '/v1/agents', { definition: 'helper', id: 'agent-a', message: 'Tidy the drawer' })
  expect([made.status, made.body.id, made.headers.get('location')]).toEqual([201, 'agent-a', '/v1/agents/agent-a'])
  await until(async () => (await stateOf('agent-a')) === 'completed')
  const again = { 'idempotency-key': 'k2' }
  const told = await send('POST', '/v1/agents/agent-a/messages', { content: { text: 'More' } }, again)
  expect([told.status, told.body]).toEqual([202, { clientKey: 'k2' }])
  await until(async () => provider.requests.length === 2 && (await stateOf('agent-a')) === 'completed')
  await send('POST', '/v1/agents/agent-a/messages', { content: { text: 'More' } }, again)
  const { messages, count } = (await send('GET', '/v1/agents/agent-a/messages')).body
  expect(messages.map(({ role, content }: Record<string, string>) => `${role}: ${content}`)).toEqual([
    ...['user: Tidy the drawer', 'assistant: Tidy.', 'user: More', 'assistant: Tidier.'],
  ])
  expect([count, messages[2].metadata.meta]).toEqual([4, { user: 'ann', via: 'http' }])
  const rewound = await send('POST', '/v1/agents/agent-a/rewind', { message: messages[2].id })
  expect(rewound.body).toEqual({ content: { text: 'More' } })
  expect((await send('GET', '/v1/agents/agent-a/messages?from=1&to=2')).body).toMatchObject({ count: 2 })
  expect((await send('GET', '/v1/agents')).body.agents).toMatchObject([{ id: 'agent-a', status: 'idle' }])
  expect((await send('POST', '/v1/agents/agent-a/close')).status).toBe(204)
  const late = await send('POST', '/v1/agents/agent-a/messages', { content: 'Hello?' })
  expect([late.status, late.body.code]).toEqual([409, 'closed'])
  expect((await send('GET', '/v1/agents')).body.agents).toEqual([])
  expect((await send('DELETE', '/v1/agents/agent-a')).status).toBe(204)
  expect((await send('GET', '/v1/agents/agent-a')).status).toBe(404)
  expect(errors).toEqual([])
})

test('SV38 a call of an agent waits, and is answered with the digest that was shown; a stop denies it', async () => {
  const asks = (id: string) => [call(id, 'alarm-clock', { wakeAtISO: '2999-01-01T00:00:00Z' })] // it ends the run
  const { send, stateOf } = await served([asks('1'), asks('2')], {
    definitions: [definition('alarm-clock')],
    settings: { approval: { 'alarm-clock': { mode: 'confirm' } } },
  })
  await send('POST', '/v1/agents', { definition: 'helper', id: 'agent-a', message: 'go' })
  await until(async () => (await stateOf('agent-a')) === 'input-required')
  const [waiting] = (await send('GET', '/v1/agents/agent-a')).body.pending
  const path = `/v1/agents/agent-a/answers/${encodeURIComponent(waiting.approvalId)}`
  expect((await send('POST', path, { decision: 'allow', digest: 'other' })).body.code).toBe('other_digest')
  expect((await send('POST', path, {})).status).toBe(400)
  const answered = await send('POST', path, { decision: 'allow', digest: waiting.digest })
  expect(answered.status).toBe(202)
  await until(async () => (await stateOf('agent-a')) === 'completed')
  expect((await send('POST', path, { decision: 'allow', digest: waiting.digest })).status).toBe(404)
  await send('POST', '/v1/agents/agent-a/messages', { content: 'again' })
  await until(async () => (await stateOf('agent-a')) === 'input-required')
  expect((await send('POST', '/v1/agents/agent-a/stop')).status).toBe(202)
  await until(async () => (await stateOf('agent-a')) === 'canceled')
})

test('SV38 the files of an agent are rolled back over HTTP, and the rollback is undone', async () => {
  const folder = await temporary('served-rollback-')
  const read = (): Promise<string> => readFile(join(folder, 'plan.txt'), 'utf8')
  await writeFile(join(folder, 'plan.txt'), 'sow\n')
  const { send, stateOf } = await served([[call('1', 'write_file', { path: 'plan.txt', content: 'dig\n' })], 'Dug.'], {
    definitions: [definition('writing')],
    plugins: [definePlugin({ toolId: 'writing', displayName: '', description: '', tools: () => [writeFileTool] })],
    execution: createProcessContext({ cwd: folder }),
    snapshots: { store: await temporary('served-snapshots-') },
  })
  await send('POST', '/v1/agents', { definition: 'helper', id: 'agent-a', message: 'Dig' })
  await until(async () => (await stateOf('agent-a')) === 'completed')
  const [{ id: message }] = (await send('GET', '/v1/agents/agent-a/messages')).body.messages
  expect(await read()).toBe('dig\n')
  let back = await send('POST', '/v1/agents/agent-a/rollback', { message })
  await until(async () => {
    // It is at work until its files are recorded.
    if (back.status !== 200) back = await send('POST', '/v1/agents/agent-a/rollback', { message })
    return back.status === 200
  })
  expect([back.body.restored, await read()]).toEqual([['plan.txt'], 'sow\n'])
  expect((await send('POST', '/v1/agents/agent-a/undo-rollback', { message })).status).toBe(200)
  expect(await read()).toBe('dig\n')
  expect((await send('POST', '/v1/agents/agent-a/rollback', { message: 'none' })).status).toBe(422)
})

test('SV38 schedules are made, changed and deleted over HTTP, with the sentences of the workflow', async () => {
  const { send, errors } = await served([])
  await send('POST', '/v1/agents', { definition: 'helper', id: 'agent-a' })
  const schedule = { id: 'hourly', agentId: 'agent-a', message: 'Look', when: everyHour }
  const made = await send('POST', '/v1/schedules', schedule)
  expect([made.status, made.body]).toMatchObject([201, { ...schedule, runs: 0 }])
  expect((await send('PATCH', '/v1/schedules/hourly', { enabled: false })).body).toMatchObject({ enabled: false })
  const wrong = await send('POST', '/v1/schedules', { ...schedule, when: { type: 'interval', everySeconds: 1 } })
  expect([wrong.status, wrong.body.detail]).toEqual([422, expect.stringContaining('This cannot be scheduled')])
  expect((await send('POST', '/v1/schedules', { ...schedule, agentId: 'agent-x' })).status).toBe(404)
  expect((await send('GET', '/v1/schedules?agent=agent-a')).body.schedules).toHaveLength(1)
  expect((await send('DELETE', '/v1/schedules/hourly')).status).toBe(204)
  expect((await send('DELETE', '/v1/schedules/hourly')).body.code).toBe('no_schedule')
  expect((await send('POST', '/v1/agents', { definition: 'nobody' })).body.detail).toContain('there is no definition')
  expect(errors).toEqual([])
})

test('SV38 agents and schedules of another tenant are not there', async () => {
  const { send } = await served([])
  const [acme, beta] = [{ 'x-tenant': 'acme' }, { 'x-tenant': 'beta' }]
  const { id } = (await send('POST', '/v1/agents', { definition: 'helper', name: 'canary' }, acme)).body
  const made = await send('POST', '/v1/schedules', { agentId: id, message: 'canary', when: everyHour }, acme)
  expect(made.status).toBe(201)
  for (const [method, path, body] of [
    ...[['GET', `/v1/agents/${id}`] as const, ['DELETE', `/v1/agents/${id}`] as const],
    ...[['GET', `/v1/agents/${id}/messages`] as const, ['POST', `/v1/agents/${id}/stop`] as const],
    ...[['POST', `/v1/agents/${id}/close`] as const, ['DELETE', `/v1/schedules/${made.body.id}`] as const],
    ['POST', `/v1/agents/${id}/messages`, { content: 'hello' }],
    ['POST', `/v1/agents/${id}/rewind`, { message: 'm' }],
    ['POST', `/v1/agents/${id}/rollback`, { message: 'm' }],
    ['POST', `/v1/agents/${id}/answers/x`, { decision: 'deny' }],
    ['POST', '/v1/schedules', { agentId: id, message: 'x', when: everyHour }],
    ['PATCH', `/v1/schedules/${made.body.id}`, { enabled: false }],
  ] as [string, string, object?][]) {
    const answer = await send(method, path, body, beta)
    expect([answer.status, JSON.stringify(answer.body)], path).toEqual([404, expect.not.stringContaining('canary')])
  }
  for (const path of ['/v1/agents', '/v1/schedules'])
    expect(JSON.stringify((await send('GET', path, undefined, beta)).body)).not.toContain('canary')
  expect((await send('GET', '/v1/agents', undefined, acme)).body.agents).toMatchObject([{ id }])
  expect((await send('POST', '/v1/agents', { definition: 'helper', id: 'agent-x' }, acme)).status).toBe(400)
})

test('SV38 a server without agents says so', async () => {
  const { send } = await startServer()
  expect((await send('GET', '/v1/agents')).body).toMatchObject({ status: 501, code: 'not_offered' })
})
