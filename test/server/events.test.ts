import { expect, test } from 'vitest'
import { eventSchema } from '../../src/events/index.ts'
import { createSchemaValidator } from '../../src/platform/json-schema.ts'
import { call, scripted } from '../../src/testing/index.ts'
import { gated, startServer, token, tool, until } from './server-kit.ts'

interface Frame {
  readonly id?: number
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: events of every form
  readonly data: any
}

/** Reads frames of a stream until one is the last. */
async function frames(response: Response, isLast: (frame: Frame) => boolean): Promise<Frame[]> {
  const all: Frame[] = []
  let rest = ''
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + piece).split('\n\n')
    rest = parts.pop()!
    for (const part of parts) {
      const data = /^data: (.*)$/m.exec(part)?.[1]
      if (data === undefined) continue
      const id = /^id: (\d+)$/m.exec(part)?.[1]
      all.push({
        ...(id !== undefined && { id: Number(id) }),
        event: /^event: (\w+)$/m.exec(part)![1]!,
        data: JSON.parse(data),
      })
      if (isLast(all.at(-1)!)) return all
    }
  }
  return all
}

const get = (path: string, headers: Record<string, string> = {}): Request =>
  new Request(`http://127.0.0.1${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } })

const isEnd = ({ data }: Frame): boolean => data.entry?.type === 'run_ended'

test('SV80 events replay from a number and go on live, facts before what is streamed after them', async () => {
  const { provider, open, requests } = gated([call('1', 'look', {})], 'Here it is, at last.')
  const { server, send, store } = await startServer({ provider: () => provider, tools: { look: tool('look') } })
  await send('POST', '/v1/sessions', { id: 's', message: 'Look' })
  await until(() => requests.length === 1)
  const streams = [
    frames(await server.fetch(get('/v1/sessions/s/events')), isEnd),
    frames(await server.fetch(get('/v1/sessions/s/events?after=2')), isEnd),
    frames(await server.fetch(get('/v1/sessions/s/events', { 'last-event-id': '3' })), isEnd),
  ]
  open()
  const log = await Promise.all(streams)
  const entries = await store.read('s')
  for (const [i, all] of log.entries()) {
    const from = [0, 2, 3][i]!
    expect(all.filter(({ id }) => id !== undefined).map(({ data }) => data.entry)).toEqual(entries.slice(from))
    let head = from
    for (const { id, event, data } of all) {
      if (id !== undefined) head = id
      if (event === 'delta') expect(data.after).toBe(head)
    }
    expect(
      all
        .filter(({ data }) => data.type === 'text')
        .map(({ data }) => data.delta)
        .join(''),
    ).toBe('Here it is, at last.')
  }
})

test('SV80 a client chooses types and whether deltas come, and gets a page of JSON if it prefers', async () => {
  const { server, send } = await startServer({ provider: () => scripted('One.', 'Two.') })
  await send('POST', '/v1/sessions', { id: 's' })
  await send('POST', '/v1/sessions/s/messages', { content: 'a' }, { prefer: 'wait=20' })
  const some = await frames(await server.fetch(get('/v1/sessions/s/events?types=turn,run_ended&deltas=false')), isEnd)
  expect(some.map(({ event, data }) => [event, data.entry.type])).toEqual([
    ['entry', 'turn'],
    ['entry', 'turn'],
    ['entry', 'run_ended'],
  ])
  const page = await send('GET', '/v1/sessions/s/events?after=1&limit=2', undefined, { accept: 'application/json' })
  expect(page.body.events.map(({ seq }: { seq: number }) => seq)).toEqual([2, 3])
  expect(page.body.next).toBe(3)
  const beyond = await send('GET', '/v1/sessions/s/events?after=999')
  expect([beyond.status, beyond.body.code]).toEqual([409, 'beyond_head'])
  expect((await send('GET', '/v1/sessions/s/events?after=-1')).status).toBe(400)
})

test('SV80 with children the events of sub-agents come too, under the name of their session', async () => {
  const spawn = tool('delegate', {
    gated: false,
    execute: async (
      _input: unknown,
      ctx: { createChild(options: object): Promise<{ run(options: object): Promise<{ text: string }> }> },
    ) => {
      const child = await ctx.createChild({})
      return (await child.run({ prompt: 'sub' })).text
    },
  } as never)
  const provider = scripted([call('1', 'delegate', {})], 'From below.', 'Done.')
  const { server, send } = await startServer({ provider: () => provider, tools: { delegate: spawn } })
  await send('POST', '/v1/sessions', { id: 's', message: 'Delegate' })
  const all = await frames(
    await server.fetch(get('/v1/sessions/s/events?children=true')),
    ({ event, data }) => event === 'child' && data.data.entry?.type === 'run_ended',
  )
  const child = all.find(({ event }) => event === 'child')!
  expect(child.data).toMatchObject({ session: expect.stringMatching(/^s\//), event: 'entry', seq: 1 })
  expect(JSON.stringify(all.filter(({ event }) => event === 'child'))).toContain('From below.')
})

test('SV98 one stream tells which sessions changed, over all of them', async () => {
  const { server, send } = await startServer({ provider: () => scripted('x') })
  await send('POST', '/v1/sessions', { id: 'old' })
  const following = frames(await server.fetch(get('/v1/events')), ({ data }) => data.id === 'new' && data.turns === 2)
  await send('POST', '/v1/sessions', { id: 'new', message: 'Hi' })
  const all = await following
  expect(new Set(all.map(({ event }) => event))).toEqual(new Set(['session']))
  expect(all.every(({ data }) => data.id === 'new')).toBe(true)
})

test('SV80 a session that is deleted ends its streams with the reason', async () => {
  const { server, send } = await startServer({ provider: () => scripted('x') })
  await send('POST', '/v1/sessions', { id: 's' })
  const following = frames(await server.fetch(get('/v1/sessions/s/events')), ({ event }) => event === 'failed')
  await send('DELETE', '/v1/sessions/s')
  expect((await following).at(-1)?.event).toBe('failed')
})

test('WB142 messages that wait in the inbox are told to each stream that asks, until their entry comes', async () => {
  const { server, send, store } = await startServer({
    provider: () => scripted([call('c1', 'save')], 'Done.', 'Then this.'),
    tools: { save: tool('save', { gated: true }) },
  })
  await send('POST', '/v1/sessions', { id: 's', message: 'Go.' })
  await until(async () => (await store.find('s'))?.status === 'waiting' && !(await store.find('s'))?.isHeld)
  const { head } = (await store.find('s'))!
  const read = async (path: string, isLast: (frame: Frame) => boolean) =>
    frames(await server.fetch(get(`/v1/sessions/s/events?${path}`)), isLast)
  const isLastMessage = ({ data }: Frame): boolean => data.message?.clientKey === 'k2'
  const whole = [read(`after=${head}&inbox=true`, isEnd), read(`after=${head}`, isEnd)]
  const begun = read(`after=${head}&inbox=true&deltas=false&types=run_ended`, isLastMessage)
  await send('POST', '/v1/sessions/s/messages', { content: 'Then this.' }, { 'idempotency-key': 'k1' })
  await store.send('s', { clientKey: 'stop', mode: 'stop', content: [] })
  await store.send('s', { clientKey: 'k2', mode: 'steer', content: [{ type: 'text', text: 'Not that.' }] })
  const message = (clientKey: string, mode: string, text: string) =>
    expect.objectContaining({ clientKey, mode, content: [{ type: 'text', text }] })
  const messages = [message('k1', 'followUp', 'Then this.'), message('k2', 'steer', 'Not that.')]
  const told = (all: readonly Frame[] = []) =>
    all.flatMap(({ event, data }) => (event === 'inbox' ? [data.message] : []))
  const early = await begun
  expect(told(early)).toEqual(messages)
  expect(early.map(({ data }) => createSchemaValidator(eventSchema)(data))).toEqual([undefined, undefined])
  expect(told(await read(`after=${head}&inbox=true`, isLastMessage))).toEqual(messages)
  const [{ callId, digest }] = (await send('GET', '/v1/pending?session=s')).body.pending
  await send('POST', `/v1/sessions/s/answers/${callId}`, { decision: 'allow', digest })
  const [asking, other] = await Promise.all(whole)
  expect([told(asking), told(other)]).toEqual([messages, []])
  const accepted = asking!.flatMap(({ data }) => data.entry?.clientKey ?? [])
  expect(accepted).toEqual(expect.arrayContaining(['k1', 'k2']))
  expect(told(await read('inbox=true', ({ id }) => id === asking!.at(-1)!.id))).toEqual([])
})

test('WB14 more changes than one page of the store are all told', async () => {
  const { server, send } = await startServer()
  const told = new Set<string>()
  const response = await server.fetch(
    new Request('http://127.0.0.1/v1/events', { headers: { authorization: `Bearer ${token}` } }),
  )
  const reader = response.body!.getReader()
  await Promise.all(Array.from({ length: 450 }, (_, i) => send('POST', '/v1/sessions', { id: `s${i}` })))
  let text = ''
  await until(async () => {
    text += new TextDecoder().decode((await reader.read()).value)
    for (const [, id] of text.matchAll(/"id":"(s\d+)"/g)) told.add(id!)
    return told.size === 450
  })
  await reader.cancel()
})

test('WB15 a draft is told to other clients of its tenant with a version, and the last write counts', async () => {
  let tenant = 'red'
  const { server, send } = await startServer({ auth: { verify: () => ({ user: 'ann', tenant }) } })
  await send('POST', '/v1/sessions', { id: 'a' })
  tenant = 'blue'
  await send('POST', '/v1/sessions', { id: 'a' })
  const reader = (await server.fetch(new Request('http://127.0.0.1/v1/events'))).body!.getReader()
  tenant = 'red'
  await send('PUT', '/v1/sessions/a/draft', { text: 'of red' })
  tenant = 'blue'
  const first = (await send('PUT', '/v1/sessions/a/draft', { text: 'And' })).body.version
  const second = (await send('PUT', '/v1/sessions/a/draft', { text: 'x'.repeat(20_000) })).body.version
  expect(second).toBeGreaterThan(first)
  expect((await send('GET', '/v1/sessions/a/draft')).body.version).toBe(second)
  let text = ''
  await until(async () => {
    text += new TextDecoder().decode((await reader.read()).value)
    return text.includes(String(second))
  })
  await reader.cancel()
  const drafts = [...text.matchAll(/event: draft\ndata: (.*)\n/g)].map(([, data]) => JSON.parse(data!))
  expect(drafts).toEqual([
    { session: 'a', version: first, text: 'And' },
    { session: 'a', version: second },
  ])
})
