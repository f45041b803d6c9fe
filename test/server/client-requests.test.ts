import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createRemoteAgent, createRemoteClient, type RemoteProblem } from '../../src/client/index.ts'
import { fakeClock, scripted } from '../../src/testing/index.ts'
import { listen, remote } from './http-kit.ts'
import { playedServer, refusal } from './played-server.ts'
import { startServer, token } from './server-kit.ts'

const lost = (): never => {
  throw new TypeError('network lost')
}

test('SV47 a message that is one too many waits as long as the server says, and is then sent once', async () => {
  const { client, clock, requests } = play(
    () => refusal(429, 'too_many_messages', { 'retry-after': '7' }),
    () => Response.json({ clientKey: 'k', head: 3 }, { status: 202 }),
  )
  const sending = client.send('s', 'Hello.')
  await clock.advance(6_900)
  expect(requests).toHaveLength(1)
  await clock.advance(200)
  expect(await sending).toEqual({ clientKey: 'k', head: 3 })
  expect(requests).toHaveLength(2)
})

test('SV47 a Retry-After that is longer than the client may wait is the answer, with its seconds', async () => {
  const { client, requests } = play(() => refusal(429, 'too_many_messages', { 'retry-after': '61' }))
  await expect(client.send('s', 'Hello.')).rejects.toMatchObject({
    status: 429,
    code: 'too_many_messages',
    retryAfter: 61,
  })
  expect(requests).toHaveLength(1)
  const date = play(() => refusal(503, 'maintenance', { 'retry-after': new Date(90_000).toUTCString() }))
  await expect(date.client.send('s', 'Hello.')).rejects.toMatchObject({ retryAfter: 90 })
})

test('SV47 a message whose answer is lost is sent again with the same key; a proxy without its server counts as lost', async () => {
  const { client, clock, requests } = play(
    lost,
    () => new Response('<h1>Bad gateway</h1>', { status: 502, headers: { 'content-type': 'text/html' } }),
    () => refusal(503, 'closing'),
    () => Response.json({ clientKey: 'k', head: 3 }, { status: 202 }),
  )
  const sending = client.send('s', 'Hello.')
  for (let i = 0; i < 10; i++) await clock.advance(1_000)
  await sending
  expect(requests).toHaveLength(4)
  expect(new Set(requests.map(({ init }) => new Headers(init.headers).get('idempotency-key'))).size).toBe(1)
})

test('SV47 what would be done twice is tried once: an answer, a rewind, a label, a session with an id of the caller', async () => {
  const { client, requests } = play(lost, lost, lost, lost)
  const waiting = { session: 's', callId: 'c', digest: 'd' }
  for (const act of [
    () => client.answer(waiting, { decision: 'allow' }),
    () => client.sessions.rewind('s', 2),
    () => client.sessions.label('s', 'here'),
    () => client.sessions.make({ id: 'mine' }),
  ])
    await expect(act()).rejects.toMatchObject({ status: 0, code: 'no_connection' })
  expect(requests).toHaveLength(4)
})

test('SV47 a session, a copy and a deletion whose answers were lost are found to be done', async () => {
  const { server, store } = await startServer({ provider: () => scripted('Hi.') })
  let isLossy = true
  /** The server does it, and the client learns of it only by asking again. */
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const response = await server.fetch(new Request(url, init))
    const loses = isLossy && init.method !== 'GET'
    isLossy = !loses
    return loses ? lost() : response
  }
  const client = createRemoteClient({ ...remote('http://127.0.0.1'), fetch })
  const { id } = await client.sessions.make({ message: 'Hello.', tags: ['a'] })
  for await (const { type } of endings(client, id)) if (type === 'run_ended') break
  expect((await store.list()).sessions.map((one) => one.id)).toEqual([id])
  const prompts = (await store.read(id)).filter((entry) => entry.type === 'input')
  expect(prompts).toHaveLength(1)
  isLossy = true
  const copy = await client.sessions.fork(id)
  expect((await store.list()).sessions).toHaveLength(2)
  isLossy = true
  await client.sessions.delete(copy.id)
  expect((await store.list()).sessions.map((one) => one.id)).toEqual([id])
})

test('SV47 a server that died between a session and its first message gets the message again, with the same key', async () => {
  const session = { id: 's', head: 1 }
  const { client, clock, requests } = play(
    lost,
    () => refusal(409, 'session_exists'),
    () => Response.json({ clientKey: 'k', head: 1 }, { status: 202 }),
    () => Response.json(session),
  )
  const making = client.sessions.make({ message: 'Hello.' })
  await clock.advance(1_000)
  expect(await making).toEqual(session)
  const keys = requests.map(({ init }) => new Headers(init.headers).get('idempotency-key'))
  expect(requests.map(({ url }) => url.pathname.replace(/[\w-]{36}/, 'ID'))).toEqual([
    '/v1/sessions',
    '/v1/sessions',
    '/v1/sessions/ID/messages',
    '/v1/sessions/ID',
  ])
  expect([keys[0], keys[1], keys[2]]).toEqual([keys[2], keys[2], expect.any(String)])
})

test('SV47 a wrong token is told at once and never repeated; nothing that the client throws names the token', async () => {
  const { server, errors } = await startServer()
  const { url } = await listen(server.fetch)
  const wrong = 'not-the-token-of-this-server-123456'
  const client = createRemoteClient({ url, token: wrong })
  const problems: unknown[] = []
  for (let i = 0; i < 12; i++) await client.sessions.list().catch((problem: unknown) => void problems.push(problem))
  await client
    .events('s')
    .next()
    .catch((problem: unknown) => void problems.push(problem))
  expect(problems).toHaveLength(13)
  expect(new Set(problems.map((one) => (one as RemoteProblem).code))).toEqual(
    new Set(['unauthenticated', 'too_many_guesses']),
  )
  expect((problems.at(-1) as RemoteProblem).retryAfter).toBeGreaterThan(0)
  expect(errors.length).toBeLessThan(13)
  for (const one of problems) expect(inspected(one)).not.toContain(wrong)
  // The right one works all the same.
  expect((await createRemoteClient(remote(url)).sessions.list()).sessions).toEqual([])
})

test('SV47 a token is not sent where a redirect leads, and a page of something else is no answer', async () => {
  const seen: (string | undefined)[] = []
  const elsewhere = createHttpServer((request, response) => {
    seen.push(request.headers.authorization)
    if (request.url === '/v1/sessions') response.writeHead(302, { location: '/stolen' }).end()
    else response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>')
  })
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => void elsewhere.close(() => resolve())))
  const url = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`
  const client = createRemoteClient({ ...remote(url), retryForMs: 0 })
  await expect(client.sessions.list()).rejects.toMatchObject({ code: 'no_connection' })
  expect(seen).toEqual([`Bearer ${token}`])
  await expect(client.usage()).rejects.toMatchObject({ code: 'not_json' })
})

test('SV47 a server that takes a request and never answers counts as lost after 40 seconds', async () => {
  const clock = fakeClock()
  let isAborted = false
  const client = createRemoteClient({
    ...{ url: 'http://127.0.0.1:1', clock, retryForMs: 0 },
    fetch: (_, { signal }) =>
      new Promise(() => {
        signal?.addEventListener('abort', () => void (isAborted = true))
      }),
  })
  const listing = client.sessions.list().catch((problem: unknown) => problem)
  await clock.advance(39_900)
  expect(isAborted).toBe(false)
  await clock.advance(200)
  expect(await listing).toMatchObject({ code: 'no_connection', detail: expect.stringContaining('silent for 40 s') })
  expect([isAborted, clock.pending]).toEqual([true, 0])
})

test('SV47 options that cannot work are refused when the client is made', () => {
  expect(() => createRemoteClient({ url: 'ftp://somewhere', token })).toThrow('http: or https:')
  expect(() => createRemoteAgent({ url: 'nowhere', token })).toThrow()
})

function play(...answers: (() => Response)[]) {
  const clock = fakeClock()
  const { fetch, requests } = playedServer(...answers)
  return { client: createRemoteClient({ url: 'http://127.0.0.1:1', token, fetch, clock }), clock, requests }
}

async function* endings(client: ReturnType<typeof createRemoteClient>, id: string) {
  for await (const event of client.events(id)) if (event.durable) yield event.entry
}

/** With all that a log would show of it. */
const inspected = (error: unknown): string => {
  const { message, stack, cause } = error as Error
  return [message, stack, String(cause), (cause as Error | undefined)?.stack, JSON.stringify(error)].join('\n')
}
