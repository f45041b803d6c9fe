import { expect, test } from 'vitest'
import type { Provider } from '../../src/core/provider.ts'
import { createSession } from '../../src/index.ts'
import { call, scripted } from '../../src/testing/index.ts'
import { gated, startServer, tool, until } from './server-kit.ts'

test('SV76 a message is accepted, and answered although its client has gone', async () => {
  const { send, store, errors } = await startServer({ provider: () => scripted('Noon.') })
  const made = await send('POST', '/v1/sessions', { id: 'clock', tags: ['time'], message: 'What time is it?' })
  expect([made.status, made.body.id, made.body.tags]).toEqual([201, 'clock', ['time']])
  expect(made.headers.get('location')).toBe('/v1/sessions/clock')
  await until(async () => (await store.find('clock'))?.status === 'idle' && (await store.find('clock'))!.turns === 2)
  const page = await send('GET', '/v1/sessions/clock/events?after=2', undefined, { accept: 'application/json' })
  expect(page.body.events[0].seq).toBe(3)
  expect(JSON.stringify(page.body)).toContain('Noon.')
  expect(errors).toEqual([])
})

test('SV77 requests with the same Idempotency-Key are one message, before and after it was answered', async () => {
  const { send, store } = await startServer({ provider: () => scripted('One.', 'Two.') })
  await send('POST', '/v1/sessions', { id: 's' })
  const post = () =>
    send('POST', '/v1/sessions/s/messages', { content: 'Hi' }, { 'idempotency-key': 'k', prefer: 'wait=20' })
  const answers = await Promise.all([post(), post(), post()])
  answers.push(await post())
  for (const { status, body } of answers) expect([status, body.run.text]).toEqual([200, 'One.'])
  const turns = (await store.read('s')).filter(({ type }) => type === 'turn')
  expect(turns).toHaveLength(2)
  expect((await store.find('s'))?.attention).toBeUndefined()
})

test('SV78 Prefer: wait answers when the run has ended, and with 202 when that takes longer', async () => {
  const { provider, open } = gated('Late.')
  const { send } = await startServer({ provider: () => provider })
  await send('POST', '/v1/sessions', { id: 's' })
  const early = await send(
    'POST',
    '/v1/sessions/s/messages',
    { content: 'Hi' },
    { prefer: 'wait=0', 'idempotency-key': 'k' },
  )
  expect([early.status, early.body.run]).toEqual([202, undefined])
  const waiting = send(
    'POST',
    '/v1/sessions/s/messages',
    { content: 'Hi' },
    { prefer: 'wait=30', 'idempotency-key': 'k' },
  )
  open()
  expect((await waiting).body.run).toEqual({ status: 'completed', stop: 'end', text: 'Late.' })
})

test('SV79 during a run a steering message comes before the next model call, a prompt after the run', async () => {
  const { provider, open, requests } = gated([call('1', 'look', {})], 'Then tea.', 'And cake.')
  const { send, store } = await startServer({ provider: () => provider, tools: { look: tool('look') } })
  await send('POST', '/v1/sessions', { id: 's', message: 'Plan the day' })
  await until(() => requests.length === 1)
  await send('POST', '/v1/sessions/s/messages', { content: 'With cake' })
  await send('POST', '/v1/sessions/s/messages', { content: 'Tea, please', mode: 'steer' })
  open()
  await until(async () => (await store.find('s'))?.status === 'idle')
  const texts = (await store.read('s')).flatMap((entry) =>
    entry.type === 'turn' ? entry.turn.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])) : [],
  )
  expect(texts).toEqual(['Plan the day', 'Tea, please', 'Then tea.', 'With cake', 'And cake.'])
})

test('SV79 a bad message is refused, and nothing is stored', async () => {
  const { send, store } = await startServer({ provider: () => scripted('x') })
  await send('POST', '/v1/sessions', { id: 's' })
  const head = (await store.find('s'))!.head
  for (const body of [
    {},
    { content: '' },
    { content: [] },
    { content: [{ type: 'nothing' }] },
    { content: 7 },
    { content: 'a', mode: 'shout' },
    { content: 'a', by: 'me' },
  ]) {
    const refused = await send('POST', '/v1/sessions/s/messages', body)
    expect([refused.status, refused.body.code], JSON.stringify(body)).toEqual([400, 'bad_request'])
  }
  expect((await send('POST', '/v1/sessions/none/messages', { content: 'a' })).status).toBe(404)
  expect(
    (await send('POST', '/v1/sessions/s/messages', '{"content":', { 'content-type': 'application/json' })).status,
  ).toBe(400)
  expect((await send('POST', '/v1/sessions/s/messages', 'content=a')).status).toBe(415)
  expect((await store.find('s'))!).toMatchObject({ head, status: 'idle' })
})

test('SV82 stop ends the run under way here, and what had not been delivered waits for the next message', async () => {
  const { provider, requests } = gated('never', 'Again.')
  const { send, store } = await startServer({ provider: () => provider })
  await send('POST', '/v1/sessions', { id: 's', message: 'Go' })
  await until(() => requests.length === 1)
  await send('POST', '/v1/sessions/s/messages', { content: 'Later' })
  expect((await send('POST', '/v1/sessions/s/stop')).status).toBe(202)
  await until(async () => (await store.find('s'))?.isHeld !== true)
  const ended = (await store.read('s')).filter((entry) => entry.type === 'run_ended')
  expect(ended).toMatchObject([{ status: 'aborted' }])
  expect((await send('POST', '/v1/sessions/s/stop')).status).toBe(202)
  expect((await store.find('s'))!.head).toBe((await store.read('s')).length)
})

test('SV93 stop reaches a run in another process, here another store object and server', async () => {
  const { provider, requests } = gated('never')
  const first = await startServer({ provider: () => provider })
  const second = await startServer({ store: first.store, provider: (): Provider => scripted('x') })
  await first.send('POST', '/v1/sessions', { id: 's', message: 'Go' })
  await until(() => requests.length === 1)
  expect((await second.send('POST', '/v1/sessions/s/stop')).status).toBe(202)
  await until(async () => (await first.store.find('s'))?.isHeld !== true)
  expect((await first.store.read('s')).at(-1)).toMatchObject({ type: 'run_ended', status: 'aborted' })
})

test('SV95 start continues what waits and what an ended process left, once', async () => {
  const { store } = await startServer({ provider: () => scripted('x') })
  for (const id of ['mail', 'plain']) await (await createSession({ store, id })).setDetails({ title: id })
  await store.send('mail', { clientKey: 'k', mode: 'prompt', content: [{ type: 'text', text: 'Hi' }] })
  const { server } = await startServer({ store, provider: () => scripted('Hello.') })
  await server.start()
  await until(async () => (await store.find('mail'))!.turns === 2)
  expect((await store.find('plain'))!.turns).toBe(0)
})

test('SV95 closing leaves a run, and the next server continues it', async () => {
  const { provider, requests } = gated('never')
  const first = await startServer({ provider: () => provider })
  await first.send('POST', '/v1/sessions', { id: 's', message: 'Go' })
  await until(() => requests.length === 1)
  await first.server.close()
  expect((await first.send('GET', '/v1/sessions')).status).toBe(503)
  const second = await startServer({ store: first.store, provider: () => scripted('Done.') })
  await second.server.start()
  await until(async () => (await first.store.find('s'))?.status === 'idle')
  const turns = (await first.store.read('s')).filter((entry) => entry.type === 'turn')
  expect(turns.map(({ turn }) => turn.role)).toEqual(['user', 'assistant'])
})

test('SV83 a session is renamed and labelled while a run is under way here', async () => {
  const { provider, open, requests } = gated('Done.')
  const { send, store } = await startServer({ provider: () => provider })
  await send('POST', '/v1/sessions', { id: 's', message: 'Go' })
  await until(() => requests.length === 1)
  expect((await send('PATCH', '/v1/sessions/s', { title: 'Named' })).body.title).toBe('Named')
  expect((await send('POST', '/v1/sessions/s/label', { text: 'here' })).status).toBe(200)
  open()
  await until(async () => (await store.find('s'))!.turns === 2)
})

test('SV79 a parked session takes no message until it is unparked', async () => {
  const { send, store } = await startServer({ provider: () => scripted('Back.') })
  const session = await createSession({ store, id: 's' })
  await session.save()
  await session.open()
  await session.log.append({ type: 'parked', reason: 'it crashed three times' })
  await session.release()
  const refused = await send('POST', '/v1/sessions/s/messages', { content: 'Hi' })
  expect([refused.status, refused.body.code]).toEqual([409, 'parked'])
  expect((await send('POST', '/v1/sessions/s/unpark')).status).toBe(204)
  const answered = await send('POST', '/v1/sessions/s/messages', { content: 'Hi' }, { prefer: 'wait=20' })
  expect(answered.body.run.text).toBe('Back.')
})
