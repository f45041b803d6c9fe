import { expect, test } from 'vitest'
import { createRemoteAgent, type RemoteProblem } from '../../src/client/index.ts'
import type { Provider } from '../../src/core/provider.ts'
import { createMemoryStore, createSession } from '../../src/index.ts'
import { inboxOf } from '../../src/sessions/pending.ts'
import { call, scripted } from '../../src/testing/index.ts'
import { listen, remote } from './http-kit.ts'
import { gated, startServer, tool, until } from './server-kit.ts'

const say = (text: string) => [{ type: 'text', text }]

/** What the model got as messages. */
async function delivered({ store }: { store: ReturnType<typeof createMemoryStore> }): Promise<string[]> {
  return (await store.read('a')).flatMap((entry) =>
    entry.type === 'turn' && entry.turn.role === 'user'
      ? entry.turn.content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
      : [],
  )
}

test('WB12 a message that was sent during a run is taken back, and the model never gets it', async () => {
  const script = gated('One.', 'Two.')
  const server = await startServer({ provider: () => script.provider })
  const { send, store } = server
  await send('POST', '/v1/sessions', { id: 'a', message: 'Go.' })
  await until(() => script.requests.length === 1)
  for (const key of ['k1', 'k2'])
    await send('POST', '/v1/sessions/a/messages', { content: `Then ${key}.` }, { 'idempotency-key': key })
  const taken = await send('DELETE', '/v1/sessions/a/messages/k1')
  expect([taken.status, taken.body]).toEqual([200, { clientKey: 'k1', content: say('Then k1.') }])
  expect((await send('DELETE', '/v1/sessions/a/messages/k1')).body).toEqual(taken.body)
  await send('POST', '/v1/sessions/a/messages', { content: 'Then k1.' }, { 'idempotency-key': 'k1' })
  script.open()
  await until(async () => (await delivered(server as never)).length === 2)
  await until(async () => (await store.find('a'))?.status === 'idle' && !(await store.find('a'))?.isHeld)
  expect(await delivered(server as never)).toEqual(['Go.', 'Then k2.'])
  expect((await store.find('a'))?.attention).toBeUndefined()
  expect((await send('DELETE', '/v1/sessions/a/messages/k2')).body).toMatchObject({ status: 409, code: 'delivered' })
  expect((await send('DELETE', '/v1/sessions/a/messages/k9')).body).toMatchObject({ status: 404, code: 'no_message' })
})

test('WB12 a caller who may not read takes a message back without getting its content', async () => {
  const script = gated('One.')
  const verify = ({ headers }: Request) => ({ user: 'u', scopes: [headers.get('x-scopes') ?? 'admin'] as never })
  const { send } = await startServer({ provider: () => script.provider, auth: { verify } })
  await send('POST', '/v1/sessions', { id: 'a', message: 'Go.' })
  await until(() => script.requests.length === 1)
  await send('POST', '/v1/sessions/a/messages', { content: 'A secret.' }, { 'idempotency-key': 'k1' })
  const takeBack = (scope: string) => send('DELETE', '/v1/sessions/a/messages/k1', undefined, { 'x-scopes': scope })
  expect((await takeBack('send')).body).toEqual({ clientKey: 'k1' })
  expect((await takeBack('admin')).body).toEqual({ clientKey: 'k1', content: say('A secret.') })
  script.open()
})

test('WB12 a client that waits for the answer to a message is told that it was taken back', async () => {
  const script = gated('One.')
  const { server, send, store } = await startServer({ provider: () => script.provider })
  const { url } = await listen(server.fetch)
  await send('POST', '/v1/sessions', { id: 'a', message: 'Go.' })
  await until(() => script.requests.length === 1)
  const parts = say('Then.')
  const openai = { messages: [{ role: 'user', content: 'Then.' }], metadata: { session: 'a' } }
  const agent = createRemoteAgent({ ...remote(url), session: 'a' })
  const agentEnds = agent.run({ prompt: 'Then.' }).catch((problem: RemoteProblem) => problem.code)
  const message = () =>
    send('POST', '/v1/sessions/a/messages', { content: 'Then.' }, { prefer: 'wait=60', 'idempotency-key': 'k1' })
  const waiting = message()
  const chat = () => send('POST', '/v1/chat', { id: 'a', messages: [{ id: 'k2', role: 'user', parts }] })
  const chatting = chat()
  const completing = send('POST', '/v1/openai/v1/chat/completions', openai, { 'idempotency-key': 'k3' })
  await until(async () => (await waitingKeys(store)).length === 4)
  for (const key of await waitingKeys(store))
    expect((await send('DELETE', `/v1/sessions/a/messages/${key}`)).status).toBe(200)
  expect((await waiting).body).toMatchObject({ status: 409, code: 'withdrawn' })
  expect((await message()).body).toMatchObject({ status: 409, code: 'withdrawn' })
  expect((await chatting).body).toContain('The message was taken back')
  expect((await chat()).body).toContain('The message was taken back')
  expect((await completing).body.error.message).toContain('The message was taken back')
  expect(await agentEnds).toBe('withdrawn')
  script.open()
})

/** The keys of the messages that the model has not got. */
async function waitingKeys(store: ReturnType<typeof createMemoryStore>): Promise<string[]> {
  const entries = await store.read('a')
  const got = new Set(entries.flatMap((entry) => (entry.type === 'turn' ? (entry.consumed ?? []) : [])))
  const logged = entries.flatMap((entry) => (entry.type === 'input' && !got.has(entry.id) ? [entry.clientKey!] : []))
  return [...new Set([...logged, ...(await inboxOf(store, 'a')).map(({ clientKey }) => clientKey!)])]
}

test('WB12 a message that waits for an answer to a call is taken back without a run', async () => {
  const script = scripted([call('c1', 'publish')], 'Done.')
  const { send, store } = await startServer({
    provider: () => script,
    tools: { publish: tool('publish', { gated: true }) },
  })
  await send('POST', '/v1/sessions', { id: 'a', message: 'Go.' })
  await until(async () => (await store.find('a'))?.status === 'waiting' && !(await store.find('a'))?.isHeld)
  await send('POST', '/v1/sessions/a/messages', { content: 'Wait.' }, { 'idempotency-key': 'k1' })
  expect((await send('DELETE', '/v1/sessions/a/messages/k1')).body.content).toEqual(say('Wait.'))
  expect(await store.find('a')).toMatchObject({ status: 'waiting' })
  expect((await store.find('a'))?.attention).toBeUndefined()
})

test('WB12 what another program runs is not taken back here', async () => {
  const store = createMemoryStore()
  await (await createSession({ store, id: 'a' })).save()
  const { epoch } = await store.lease('a', { owner: 'another', ttlMs: 60_000 })
  await store.send('a', { clientKey: 'k1', mode: 'followUp', content: [{ type: 'text', text: 'Then.' }] })
  const { send } = await startServer({ store })
  expect((await send('DELETE', '/v1/sessions/a/messages/k1')).body).toMatchObject({ status: 409, code: 'elsewhere' })
  await store.lease('a', { owner: 'another', ttlMs: 0, epoch })
  expect((await send('DELETE', '/v1/sessions/a/messages/k1')).status).toBe(200)
})

test('WB13 whenever a message is taken back, either the model gets it or the person has it again', async () => {
  const script = scripted(...Array.from({ length: 400 }, () => 'Yes.'))
  let requests = 0
  const provider: Provider = {
    ...script,
    async *stream(request, signal) {
      const pauses = (++requests * 7) % 5 // so that messages come before, during and after model calls
      for (let pause = 0; pause < pauses; pause++) await new Promise((resolve) => setTimeout(resolve, 1))
      return yield* script.stream(request, signal)
    },
  }
  const server = await startServer({ provider: () => provider })
  const { send, store } = server
  await send('POST', '/v1/sessions', { id: 'a' })
  const taken = new Set<string>()
  const rounds = 120
  await Promise.all(
    Array.from({ length: rounds }, async (_, i) => {
      const key = `k${i}`
      const mode = ['prompt', 'steer', 'followUp'][i % 3]
      for (let pause = 0; pause < i % 7; pause++) await new Promise((resolve) => setImmediate(resolve))
      await send('POST', '/v1/sessions/a/messages', { content: `text ${i}`, mode }, { 'idempotency-key': key })
      for (let pause = 0; pause < (i * 5) % 11; pause++) await new Promise((resolve) => setImmediate(resolve))
      const { status, body } = await send('DELETE', `/v1/sessions/a/messages/${key}`)
      if (status === 200) taken.add(`text ${i}`)
      else expect(body.code).toBe('delivered')
    }),
  )
  await until(async () => {
    const { status, attention, isHeld } = (await store.find('a'))!
    return status === 'idle' && attention === undefined && !isHeld
  })
  const got = await delivered(server as never)
  expect(new Set(got).size).toBe(got.length)
  expect([...got, ...taken].sort()).toEqual(Array.from({ length: rounds }, (_, i) => `text ${i}`).sort())
  expect(taken.size).toBeGreaterThan(0)
  expect(got.length).toBeGreaterThan(0)
})
