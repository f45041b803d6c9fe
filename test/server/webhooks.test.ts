import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { expect, onTestFinished, test } from 'vitest'
import { createJsonlStore, createMemoryStore, createSqliteStore, loadSession } from '../../src/index.ts'
import { pruneSessions } from '../../src/sessions/index.ts'
import { call, scripted } from '../../src/testing/index.ts'
import { tool, until } from './server-kit.ts'
import { hurried, openReceiver, startWithWebhooks as start } from './webhook-receiver.ts'

const publish = tool('publish', { gated: true, effects: [{ kind: 'fs.write', path: '/tmp/x' }] as never })

test('SV65 events are signed as in Standard Webhooks, with the secret that is shown once or was given', async () => {
  const receiver = await openReceiver()
  const { send, errors } = await start()
  const made = await send('POST', '/v1/webhooks', { url: receiver.url, events: ['run_ended'] })
  expect([made.status, made.headers.get('location')]).toEqual([201, `/v1/webhooks/${made.body.id}`])
  expect(made.body).toMatchObject({ url: receiver.url, events: ['run_ended'] })
  expect(made.body.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  const secret = `whsec_${Buffer.alloc(24, 5).toString('base64')}`
  const given = await send('POST', '/v1/webhooks', { url: `${receiver.url}2`, events: ['run_ended'], secret })
  expect(given.body.secret).toBe(secret)

  await send('POST', '/v1/sessions', { id: 'fix.login', message: 'Fix it' })
  await until(() => receiver.received.length === 2)
  for (const { text, headers } of receiver.received) {
    const verifies = (key: string): boolean => {
      try {
        return new Webhook(key).verify(text, headers) !== undefined
      } catch {
        return false
      }
    }
    expect([made.body.secret, secret].filter(verifies)).toHaveLength(1)
    expect(verifies(`whsec_${Buffer.alloc(24, 6).toString('base64')}`)).toBe(false)
    expect(JSON.parse(text)).toMatchObject({
      type: 'run_ended',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      data: { session: 'fix.login', status: 'completed', stop: 'end' },
    })
    expect(headers['webhook-id']).toMatch(/^fix%2Elogin-\d+-\w+$/)
  }
  expect(errors).toEqual([])
})

test('SV65 what is no secret, event or address is refused, and nothing is kept of it', async () => {
  const { send } = await start()
  const url = 'https://example.com/hook'
  const refusals: readonly (readonly [body: object, detail: RegExp])[] = [
    [{ url }, /events/],
    [{ url, events: [] }, /events/],
    [{ url, events: ['turn'] }, /events/],
    [{ url, events: ['parked', 'parked'] }, /events/],
    [{ url, events: ['parked'], name: 'x' }, /name/],
    [{ url, events: ['parked'], secret: 'hunter2-and-more-of-it-than-24-bytes' }, /whsec_/],
    [{ url, events: ['parked'], secret: `whsec_${Buffer.alloc(23).toString('base64')}` }, /24 to 64/],
    [{ url, events: ['parked'], secret: `whsec_${Buffer.alloc(65).toString('base64')}` }, /24 to 64/],
  ]
  for (const [body, detail] of refusals) {
    const answer = await send('POST', '/v1/webhooks', body)
    expect([answer.status, answer.body.detail]).toEqual([400, expect.stringMatching(detail)])
    expect(JSON.stringify(answer.body)).not.toContain('hunter2')
  }
  expect((await send('GET', '/v1/webhooks')).body).toEqual({ webhooks: [] })
  for (let i = 0; i < 20; i++) await send('POST', '/v1/webhooks', { url, events: ['parked'] })
  expect((await send('POST', '/v1/webhooks', { url, events: ['parked'] })).body.code).toBe('too_many_webhooks')
})

test('SV66 a webhook gets the events it names, those of a session in their order, with an id for each', async () => {
  const [all, parked] = [await openReceiver(), await openReceiver()]
  const provider = scripted([call('c1', 'publish', {})], 'Published.', 'Again.')
  const { send, store } = await start({ provider: () => provider, tools: { publish } })
  await send('POST', '/v1/sessions', { id: 'before', message: 'Hi' })
  await until(async () => (await store.find('before'))?.status === 'waiting' && !(await store.find('before'))!.isHeld)
  const events = ['run_ended', 'approval_requested', 'parked']
  const made = await send('POST', '/v1/webhooks', { url: all.url, events })
  await send('POST', '/v1/webhooks', { url: parked.url, events: ['parked'] })

  const { body } = await send('GET', '/v1/pending')
  const { digest } = body.pending[0]
  await send('POST', '/v1/sessions/before/answers/c1', { decision: 'allow', digest })
  await until(() => all.received.length === 1)
  await send('POST', '/v1/sessions/before/messages', { content: 'Again' }, { prefer: 'wait=20' })
  const session = await loadSession(store, 'before')
  await session.open()
  await session.log.append({ type: 'approval_requested', callId: 'c9', digest: 'd9', reason: 'it publishes' })
  await session.log.append({ type: 'run_ended', runId: 'left', status: 'left', stop: 'left' })
  await session.log.append({ type: 'parked', reason: 'it crashed three times' })
  await session.release()
  await until(() => all.received.length === 4 && parked.received.length === 1)
  const told = all.verified(made.body.secret) as { type: string; data: { seq: number } }[]
  expect(told.map(({ type }) => type)).toEqual(['run_ended', 'run_ended', 'approval_requested', 'parked'])
  expect(told[2]!.data).toMatchObject({ session: 'before', callId: 'c9', digest: 'd9', reason: 'it publishes' })
  expect(told[3]!.data).toMatchObject({ reason: 'it crashed three times' })
  const numbers = told.map(({ data }) => data.seq)
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
  expect(all.received.map(({ id }) => id.split('-').slice(0, 2).join('-'))).toEqual(numbers.map((n) => `before-${n}`))
  expect(parked.received.map(({ body: one }) => one.type)).toEqual(['parked'])
})

test('SV66 a program that is told what waits can answer it, and is told how the run ends', async () => {
  const receiver = await openReceiver()
  const provider = scripted([call('c1', 'publish', {})], 'Published.')
  const { send } = await start({ provider: () => provider, tools: { publish } })
  await send('POST', '/v1/webhooks', { url: receiver.url, events: ['run_ended', 'approval_requested'] })
  await send('POST', '/v1/sessions', { id: 'a', message: 'Publish it' })
  await until(() => receiver.received.length === 2)
  const { session, callId, digest } = receiver.received[0]!.body.data
  const answer = await send('POST', `/v1/sessions/${session}/answers/${callId}`, { decision: 'allow', digest })
  expect(answer.status).toBe(202)
  await until(() => receiver.received.length === 3)
  expect(receiver.received.map(({ body }) => [body.type, body.data.status])).toEqual([
    ['approval_requested', undefined],
    ['run_ended', 'suspended'],
    ['run_ended', 'completed'],
  ])
})

test('SV66 a fork tells nothing of what it shares, a sub-agent only what waits for a person', async () => {
  const receiver = await openReceiver()
  const { send, store } = await start()
  await send('POST', '/v1/webhooks', { url: receiver.url, events: ['run_ended', 'approval_requested'] })
  await send('POST', '/v1/sessions', { id: 'first', message: 'Hi' })
  await until(() => receiver.received.length === 1)
  await send('POST', '/v1/sessions/first/fork', { id: 'second' })
  await send('POST', '/v1/sessions/second/messages', { content: 'More' })
  await until(() => receiver.received.length === 2)
  const parent = await loadSession(store, 'first')
  await parent.open()
  const child = await parent.child('call_1')
  await child.log.append({ type: 'run_ended', runId: 'r', status: 'completed', stop: 'end' })
  await child.log.append({ type: 'approval_requested', callId: 'c1', digest: 'd1' })
  await parent.release()
  await until(() => receiver.received.length === 3)
  expect(receiver.received.map(({ body }) => [body.type, body.data.session, body.data.root])).toEqual([
    ['run_ended', 'first', undefined],
    ['run_ended', 'second', undefined],
    ['approval_requested', 'first/call_1', 'first'],
  ])
})

test('SV67 an event that the receiver refused comes again with the same id, and later events of its session wait', async () => {
  const receiver = await openReceiver()
  const { send, errors } = await start()
  let refusals = 3
  receiver.answer = ({ body }, response) => {
    response.statusCode = body.data.session === 'a' && refusals-- > 0 ? 500 : 204
    response.end()
  }
  const made = await send('POST', '/v1/webhooks', { url: receiver.url, events: ['run_ended'] })
  await send('POST', '/v1/sessions', { id: 'a', message: 'One' })
  await until(() => receiver.received.length > 0)
  await send('POST', '/v1/sessions/a/messages', { content: 'Two' }, { prefer: 'wait=20' })
  await send('POST', '/v1/sessions', { id: 'b', message: 'Other' })
  await until(() => receiver.received.length === 6)
  const ids = receiver.received.flatMap(({ id, body }) => (body.data.session === 'a' ? [id] : []))
  expect(ids).toHaveLength(5)
  expect(new Set(ids.slice(0, 4)).size).toBe(1)
  expect(ids[4]).not.toBe(ids[0])
  expect(receiver.verified(made.body.secret)).toHaveLength(6)
  expect(errors[0]!.message).toContain('it answered 500')
})

test('SV67 a receiver that was down gets everything in order when it is back', async () => {
  const receiver = await openReceiver()
  const { send, errors } = await start()
  await send('POST', '/v1/webhooks', { url: receiver.url, events: ['run_ended'] })
  await receiver.stop()
  await send('POST', '/v1/sessions', { id: 'a' })
  for (const content of ['One', 'Two'])
    await send('POST', '/v1/sessions/a/messages', { content }, { prefer: 'wait=20' })
  await until(() => errors.length > 0)
  expect(errors[0]!.message).toContain('ECONNREFUSED')
  await receiver.listen()
  await until(() => receiver.received.length === 2)
  expect(receiver.received[0]!.body.data.seq).toBeLessThan(receiver.received[1]!.body.data.seq)
})

test('SV67 whatever a receiver answers, each event is accepted once, and those of a session in their order', async () => {
  const receiver = await openReceiver()
  const { send } = await start({ clock: hurried(2000), limits: { runs: 50 } })
  const accepted: string[] = []
  const numbers = new Map<string, number[]>()
  receiver.answer = ({ id, body: { data } }, response) => {
    const refusal = [0, 301, 400, 404, 429, 500, 503][Math.floor(Math.random() * 25)]
    if (refusal === 0) return void response.destroy()
    if (refusal !== undefined) return void response.writeHead(refusal).end('no')
    accepted.push(id)
    numbers.set(data.session, [...(numbers.get(data.session) ?? []), data.seq])
    response.end()
  }
  await send('POST', '/v1/webhooks', { url: receiver.url, events: ['run_ended'] })
  const ids = Array.from({ length: 30 }, (_, i) => `s${i}`)
  const talk = async (id: string): Promise<void> => {
    await send('POST', '/v1/sessions', { id })
    for (const content of ['One', 'Two', 'Three'])
      await send('POST', `/v1/sessions/${id}/messages`, { content }, { prefer: 'wait=60' })
  }
  await Promise.all(ids.map(talk))
  await until(() => accepted.length >= 90)
  expect(new Set(accepted).size).toBe(90)
  expect(accepted).toHaveLength(90)
  for (const [id, seqs] of numbers) expect([id, seqs]).toEqual([id, seqs.toSorted((x, y) => x - y)])
})

test('SV67 an event is given up after three days, and the next one is sent', async () => {
  const receiver = await openReceiver()
  let later = 0
  const clock = { ...hurried(2000), now: () => Date.now() + later }
  const { send, errors } = await start({ clock })
  receiver.answer = ({ id }, response) => {
    response.statusCode = id === receiver.received[0]!.id ? 410 : 200
    response.end()
  }
  await send('POST', '/v1/webhooks', { url: receiver.url, events: ['run_ended'] })
  await send('POST', '/v1/sessions', { id: 'a', message: 'One' })
  await until(() => receiver.received.length >= 5)
  await send('POST', '/v1/sessions/a/messages', { content: 'Two' }, { prefer: 'wait=20' })
  expect(errors).toHaveLength(1)
  later = 3 * 86_400_000
  await until(() => receiver.received.at(-1)!.id !== receiver.received[0]!.id)
  expect(errors[1]!.message).toContain('within 3 days: it answered 410')
})

const stores = {
  memory: () => createMemoryStore(),
  SQLite: (folder: string) => createSqliteStore({ path: join(folder, 's.sqlite') }),
  JSONL: (folder: string) => createJsonlStore({ dir: folder }),
}

test.for(Object.entries(stores))(
  'SV69 deliveries stop when the server closes, and the next server goes on (%s)',
  async ([, open]) => {
    const folder = mkdtempSync(join(tmpdir(), 'libero-webhooks-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const receiver = await openReceiver()
    const store = open(folder)
    onTestFinished(() => store.close?.())
    const first = await start({ store })
    receiver.answer = (_, response) => void response.writeHead(503).end()
    const made = await first.send('POST', '/v1/webhooks', { url: receiver.url, events: ['run_ended'] })
    await first.send('POST', '/v1/sessions', { id: 'a', message: 'One' })
    await until(() => receiver.received.length > 0)
    await first.server.close()
    const { length } = receiver.received
    receiver.answer = (_, response) => void response.end()
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(receiver.received).toHaveLength(length)

    expect(await pruneSessions(store, { kind: 'webhook', maxSessions: 0 })).toMatchObject({ sessions: [], kept: 1 })
    const second = await start({ store })
    expect((await second.send('GET', '/v1/webhooks')).body.webhooks).toMatchObject([{ id: made.body.id }])
    await second.server.start()
    await until(() => receiver.received.length > length)
    await second.send('POST', '/v1/sessions/a/messages', { content: 'Two' })
    await until(() => new Set(receiver.received.map(({ id }) => id)).size === 2)
    await second.server.close()
    const third = await start({ store })
    await third.server.start()
    await third.send('POST', '/v1/sessions', { id: 'b', message: 'Last' })
    await until(() => receiver.received.some(({ body }) => body.data.session === 'b'))
    // What was under way when a server closed may come twice.
    const told = new Map(receiver.received.slice(length).map(({ id, body }) => [id, body.data.session]))
    expect([...told.values()]).toEqual(['a', 'a', 'b'])
  },
)
