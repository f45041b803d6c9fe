import { expect, test } from 'vitest'
import type { Provider } from '../../src/core/provider.ts'
import { call, scripted } from '../../src/testing/index.ts'
import { spawn } from '../../src/tools/spawn.ts'
import { gated, startServer, tool, until } from './server-kit.ts'

const publish = tool('publish', { gated: true, effects: [{ kind: 'fs.write', path: '/tmp/x' }] as never })

async function waiting() {
  const provider = scripted([call('c1', 'publish', { to: 'npm' })], 'Published.')
  const started = await startServer({
    provider: () => provider,
    tools: { publish },
    auth: { verify: () => ({ user: 'ada' }) },
  })
  await started.send('POST', '/v1/sessions', { id: 's', title: 'Release', message: 'Publish it' })
  await until(
    async () => (await started.store.find('s'))?.status === 'waiting' && !(await started.store.find('s'))!.isHeld,
  )
  const { body } = await started.send('GET', '/v1/pending')
  return { ...started, pending: body.pending }
}

test('SV81 what waits is listed over all sessions, with what would run and its digest', async () => {
  const { pending, send } = await waiting()
  expect(pending).toMatchObject([
    { session: 's', root: 's', title: 'Release', name: 'publish', input: { to: 'npm' }, isQuestion: false },
  ])
  expect(pending[0].digest).toMatch(/\w/)
  expect((await send('GET', '/v1/sessions/s')).body.pending).toEqual(pending)
  expect((await send('GET', '/v1/pending?session=s')).body.pending).toEqual(pending)
})

test('SV81 an allow needs the digest of what was shown, is signed in the name of the verified user, and the run goes on', async () => {
  const { pending, send, store } = await waiting()
  const [{ callId, digest }] = pending
  const path = `/v1/sessions/s/answers/${callId}`
  expect((await send('POST', path, { decision: 'allow' })).body.code).toBe('other_digest')
  expect((await send('POST', path, { decision: 'allow', digest: 'x' })).body).toMatchObject({
    code: 'other_digest',
    digest,
  })
  expect((await send('POST', path, { decision: 'allow', digest, by: 'eve' })).status).toBe(400)
  expect((await send('POST', path, { digest })).status).toBe(400)
  expect((await send('POST', '/v1/sessions/s/answers/none', { decision: 'deny' })).body.code).toBe('no_call')
  expect((await send('POST', path, { decision: 'allow', digest })).status).toBe(202)
  const second = await send('POST', path, { decision: 'deny', digest })
  expect([second.status, second.body.code]).toEqual([409, 'answered_before'])
  await until(async () => (await store.find('s'))?.status === 'idle')
  const entries = await store.read('s')
  expect(entries.find((entry) => entry.type === 'approval_answered')).toMatchObject({
    decision: 'allow',
    by: 'ada',
    mac: expect.any(String),
  })
  expect(JSON.stringify(entries)).toContain('publish done')
})

test('SV81 a denial reaches the model with the note of the person', async () => {
  const { pending, send, store } = await waiting()
  const answered = await send('POST', `/v1/sessions/s/answers/${pending[0].callId}`, {
    decision: 'deny',
    content: 'use the other registry',
  })
  expect(answered.status).toBe(202)
  await until(async () => (await store.find('s'))?.status === 'idle')
  expect(JSON.stringify(await store.read('s'))).toContain('use the other registry')
})

test('SV81 a message while a call waits is kept, adds nothing to the log again and again, and follows the answer', async () => {
  const { pending, send, store, server } = await waiting()
  expect((await send('POST', '/v1/sessions/s/messages', { content: 'And then?' })).status).toBe(202)
  const { head } = (await store.find('s'))!
  for (let look = 0; look < 3; look++) {
    await server.start()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  expect((await store.find('s'))!.head).toBe(head)
  const [{ callId, digest }] = pending
  await send('POST', `/v1/sessions/s/answers/${callId}`, { decision: 'allow', digest })
  await until(
    async () =>
      (await store.find('s'))?.status !== 'waiting' && JSON.stringify(await store.read('s')).includes('publish done'),
  )
  await until(async () => (await store.find('s'))?.attention === undefined)
})

/** A session with two sub-agents: one waits for an approval, the other works until `open` is called. */
async function twoSubAgents() {
  const slow = gated('Slow is done.')
  const spawns = [call('1', 'spawn', { task: 'ask first' }), call('2', 'spawn', { task: 'be slow' })]
  const root = scripted(spawns, 'Both are done.')
  const asks = scripted([call('c1', 'publish', { to: 'npm' })], 'It is published.')
  const provider: Provider = {
    ...root,
    stream(request, signal) {
      const said = JSON.stringify(request)
      if (said.includes('Begin')) return root.stream(request, signal)
      return (said.includes('ask first') ? asks : slow.provider).stream(request, signal)
    },
  }
  const tools = { publish, spawn: { ...spawn, gated: false } }
  const { send, store } = await startServer({ provider: () => provider, tools })
  await send('POST', '/v1/sessions', { id: 's', title: 'Release', message: 'Begin' })
  const pending = async () => (await send('GET', '/v1/pending')).body.pending
  const is = async (status: string) => (await store.find('s'))?.status === status
  await until(async () => (await store.find('s/1'))?.status === 'waiting')
  const allow = async () => {
    const [{ session, callId, digest }] = await pending()
    const path = `/v1/sessions/${encodeURIComponent(session)}/answers/${callId}`
    expect((await send('POST', path, { decision: 'allow', digest })).status).toBe(202)
    expect(await pending()).toEqual([])
  }
  return { slow, store, pending, is, allow }
}

test('SV81 what a sub-agent waits for is listed once under its root while another one works, and the answer counts when both are over', async () => {
  const { slow, store, pending, is, allow } = await twoSubAgents()
  expect(await is('working')).toBe(true)
  const all = await pending()
  expect(all).toMatchObject([{ session: 's/1', root: 's', title: 'Release', name: 'publish' }])
  expect(all).toHaveLength(1)
  await allow()
  slow.open()
  await until(() => is('idle'))
  expect(JSON.stringify(await store.read('s'))).toMatch(/It is published.*Both are done/s)
})

test('SV81 the answer to a sub-agent continues its root, which waits for nothing else', async () => {
  const { slow, store, pending, is, allow } = await twoSubAgents()
  slow.open()
  await until(() => is('waiting'))
  expect(await pending()).toHaveLength(1)
  await allow()
  await until(() => is('idle'))
  expect(JSON.stringify(await store.read('s'))).toMatch(/It is published.*Both are done/s)
})
