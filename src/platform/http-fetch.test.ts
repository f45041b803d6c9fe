import { describe, expect, test } from 'vitest'
import { fetchTransport, type HttpRequest, type HttpResponse } from './http.ts'

describe('what is asked of fetch', () => {
  test('is one body, no redirects followed, and the caller’s own signal', async () => {
    const calls: [unknown, RequestInit | undefined][] = []
    const send = fetchTransport(async (url, init) => {
      calls.push([url, init])
      return new Response('yes', { status: 201, headers: { 'X-Id': '7' } })
    })
    const { signal } = new AbortController()
    const response = await send({ ...post('http://h.test/v1?key=1'), signal })
    expect(response).toMatchObject({ status: 201, headers: { 'x-id': '7' } })
    expect(await textOf(response)).toBe('yes')
    const [[url, init]] = calls as [(typeof calls)[0]]
    expect(url).toBe('http://h.test/v1?key=1')
    expect(init).toEqual({ method: 'POST', headers, redirect: 'manual', body: expect.any(Uint8Array), signal })
    expect(new TextDecoder().decode(init!.body as Uint8Array)).toBe('{"ask":1}')
  })

  test('has no body if the request has none', async () => {
    const send = fetchTransport(async (url, init) => {
      expect(new Request(url, init).body).toBe(null)
      return new Response(null, { status: 204 })
    })
    const response = await send({ url: 'http://h.test', method: 'GET', headers: {}, body: [] })
    expect(await textOf(response)).toBe('')
  })
})

describe('a body', () => {
  test.each([0, 1])('left after %d reads is cancelled', async (reads) => {
    let cancelled = false
    const stream = new ReadableStream({
      start: (controller) => controller.enqueue(new Uint8Array(3)),
      cancel: () => void (cancelled = true),
    })
    const { body } = await fetchTransport(async () => new Response(stream))(post('http://h.test'))
    const iterator = body[Symbol.asyncIterator]()
    for (let i = 0; i < reads; i++) expect(await iterator.next()).toEqual({ done: false, value: new Uint8Array(3) })
    await iterator.return?.()
    expect(cancelled).toBe(true)
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
  })

  test('FP-11 that breaks off says so by code and host, and may still be left', async () => {
    const stream = new ReadableStream({
      start: (controller) => controller.error(new TypeError('terminated: http://h.test/?key=sk-secret')),
    })
    const { body } = await fetchTransport(async () => new Response(stream))(post('http://h.test'))
    const iterator = body[Symbol.asyncIterator]()
    const error = await iterator.next().catch((error) => error)
    expect(error).toMatchObject({ code: 'ECONNRESET', message: expect.stringContaining('h.test') })
    expect(`${error.stack} ${error.cause}`).not.toContain('sk-')
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined })
  })
})

describe('a failure', () => {
  const failures: [string, Error, string | undefined][] = [
    ['Node', Object.assign(new TypeError('fetch failed'), { cause: coded('connect', 'ECONNREFUSED') }), 'ECONNREFUSED'],
    ['Bun', coded('Unable to connect to http://h.test/?key=sk-secret', 'ConnectionRefused'), 'ConnectionRefused'],
    ['Deno', new TypeError('error sending request for url (http://h.test/?key=sk-secret)'), 'ECONNRESET'],
    ['a browser', new TypeError('Failed to fetch'), 'ECONNRESET'],
    ['a bad header', new TypeError('"sk-secret" is an invalid header value'), undefined],
  ]

  test.each(failures)('FP-09 names the host and keeps the code, but quotes nothing: %s', async (_, failure, code) => {
    const send = fetchTransport(() => Promise.reject(failure))
    const error = await send(post('http://h.test:81/?key=sk-secret')).catch((error) => error)
    expect(error.message).toContain('No answer from h.test:81')
    expect(error.code).toBe(code)
    expect(`${error.stack} ${error.cause} ${JSON.stringify(error)}`).not.toContain('sk-')
  })

  test('an address that is no URL is refused without being quoted', async () => {
    const error = await fetchTransport(fetch)(post('sk-secret')).catch((error) => error)
    expect(error.message).toContain('check the base URL')
    expect(`${error.stack} ${JSON.stringify(error)}`).not.toContain('sk-')
  })

  test('a redirect that a browser hides is an error', async () => {
    const hidden = Object.defineProperty(new Response(), 'type', { value: 'opaqueredirect' })
    await expect(fetchTransport(async () => hidden)(post('http://h.test'))).rejects.toThrow(/h\.test.*redirect/)
  })
})

describe('an abort', () => {
  const reason = new Error('enough')

  test('while waiting for the headers is thrown as it is', async () => {
    const controller = new AbortController()
    const send = fetchTransport((_, init) => {
      const failed = Promise.withResolvers<Response>()
      init!.signal!.addEventListener('abort', () => failed.reject(new DOMException('', 'AbortError')))
      return failed.promise
    })
    const answer = send({ ...post('http://h.test'), signal: controller.signal })
    controller.abort(reason)
    await expect(answer).rejects.toBe(reason)
  })

  test('in the middle of the answer is thrown as it is', async () => {
    const controller = new AbortController()
    const stream = new ReadableStream({
      start: (source) =>
        controller.signal.addEventListener('abort', () => source.error(new DOMException('', 'AbortError'))),
    })
    const send = fetchTransport(async () => new Response(stream))
    const { body } = await send({ ...post('http://h.test'), signal: controller.signal })
    const next = body[Symbol.asyncIterator]().next()
    controller.abort(reason)
    await expect(next).rejects.toBe(reason)
  })
})

function coded(message: string, code: string): Error {
  return Object.assign(new Error(message), { code })
}

const headers = { 'x-api-key': 'sk-secret' }

function post(url: string): HttpRequest {
  return { url, method: 'POST', headers, body: [Buffer.from('{"ask"'), Buffer.from(':1}')] }
}

async function textOf({ body }: HttpResponse): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
