import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { defaultTransport, followRedirects, type HttpRequest, type HttpResponse, type Transport } from './http.ts'

const opened: (() => void)[] = []
afterEach(() => {
  vi.unstubAllGlobals()
  for (const close of opened.splice(0)) close()
})

describe('the default transport', () => {
  test('is node:http on Node, with one pool of connections for all its requests', async () => {
    const { url, connections } = await serve()
    const send = defaultTransport()
    for (let i = 0; i < 5; i++) expect(await textOf(await send(post(url)))).toBe('POST / {"ask":1}')
    expect(connections()).toBe(1)
  })

  test('is fetch where Node is only imitated', async () => {
    vi.stubGlobal('Deno', {})
    vi.stubGlobal('fetch', async (url: string) => new Response(`fetched ${url}`))
    expect(await textOf(await defaultTransport()(post('http://h.test')))).toBe('fetched http://h.test')
  })

  test('is fetch where there is no process', async () => {
    vi.stubGlobal('fetch', async () => new Response('fetched'))
    vi.stubGlobal('process', undefined)
    const send = defaultTransport()
    vi.unstubAllGlobals()
    expect(await textOf(await send(post('http://h.test')))).toBe('fetched')
  })
})

describe('a redirect', () => {
  test('is followed over real connections with method and body as they were', async () => {
    const { url } = await serve(307, '/moved')
    const response = await followRedirects(defaultTransport())(post(url))
    expect(response.status).toBe(200)
    expect(await textOf(response)).toBe('POST /moved {"ask":1}')
  })

  test.each([301, 302, 303, 307, 308])('S12 with status %d to another origin sends nothing there', async (status) => {
    const other = await serve()
    const { url } = await serve(status, `${other.url}/moved?key=sk-answer`)
    for (const method of ['GET', 'POST'] as const) {
      const answer = followRedirects(defaultTransport())({ ...post(url), method })
      await expect(answer).rejects.toThrow(
        `${url} answered ${status} to ${method}, which leads to ${other.url}: not followed to another origin, so nothing was sent there; if that is the service you mean, set the base URL (baseURL) to its address`,
      )
    }
    expect(other.connections()).toBe(0)
  })

  const from = 'https://api.test/v1?key=sk-query'
  const table: [method: 'GET' | 'POST', status: number, location: string | undefined, result: string | RegExp][] = [
    ['POST', 307, 'https://api.test/v2', 'https://api.test/v2'],
    ['POST', 308, '/v2?page=1', 'https://api.test/v2?page=1'],
    ['POST', 307, '//other.test/', /leads to https:\/\/other\.test: not followed to another origin/],
    ['POST', 308, 'https://api.test:8443/', /leads to https:\/\/api\.test:8443: not followed/],
    ['POST', 308, 'https://sub.api.test/', /leads to https:\/\/sub\.api\.test: not followed/],
    ['POST', 308, 'https://api.test./', /leads to https:\/\/api\.test\.: not followed/],
    ['GET', 302, 'https://other.test/', /leads to https:\/\/other\.test: not followed/],
    ['POST', 301, 'https://other.test/p?key=sk-answer', /https:\/\/api\.test answered 301 .* https:\/\/other\.test:/],
    ['POST', 302, '/v2', /answered 302/],
    ['POST', 303, '/v2', /answered 303/],
    ['GET', 301, '/v2', 'https://api.test/v2'],
    ['GET', 302, '/v2', 'https://api.test/v2'],
    ['GET', 303, '/v2', 'https://api.test/v2'],
    ['GET', 308, '/v2', 'https://api.test/v2'],
    ['POST', 307, 'http://api.test/v2', /leads to http:\/\/api\.test: not followed/],
    ['GET', 301, 'http://api.test/v2', /leads to http:\/\/api\.test: not followed/],
    ['GET', 307, 'data:,sk-answer', /leads to data:: not followed/],
    ['POST', 307, undefined, /307 without a valid location/],
    ['POST', 307, '', /307 without a valid location/],
    ['POST', 307, 'https://', /307 without a valid location/],
  ]

  test.each(table)('%s %d to %s ends at %s', async (method, status, location, result) => {
    const { send, requests, left } = scripted((url) => url === from && [status, location])
    const answer = followRedirects(send)({ ...post(from), method })
    if (typeof result === 'string') {
      expect((await answer).status).toBe(200)
      expect(requests).toEqual([{ ...post(from), method }, expect.objectContaining({ method, body, url: result })])
    } else {
      const error: Error = await answer.then(Promise.reject, (error) => error)
      expect(error.message).toMatch(result)
      expect(`${error.stack} ${error.cause} ${JSON.stringify(error)}`).not.toContain('sk-')
      expect(requests).toHaveLength(1)
    }
    expect(left()).toBe(1)
  })

  test('from http to https is another origin', async () => {
    const { send, requests } = scripted((url) => url.startsWith('http:') && [308, 'https://api.test/'])
    await expect(followRedirects(send)(post('http://api.test'))).rejects.toThrow('leads to https://api.test: not')
    expect(requests).toHaveLength(1)
  })

  test('S12 to another origin after one within it is not followed either', async () => {
    const steps: Record<string, string> = { [from]: '/v2', 'https://api.test/v2': 'https://other.test/' }
    const { send, requests } = scripted((url) => url in steps && [307, steps[url]])
    await expect(followRedirects(send)(post(from))).rejects.toThrow('leads to https://other.test: not followed')
    expect(requests).toHaveLength(2)
  })

  test('within the origin keeps the keys', async () => {
    const { send, requests } = scripted((url) => url === from && [307, 'https://api.test:443/v2'])
    await followRedirects(send)(post(from))
    expect(requests[1]!.headers).toEqual(secrets)
  })

  test.each([5, 6])('is followed five times, not %d', async (times) => {
    const { send, requests } = scripted((url) => requests.length <= times && [307, `${url}1`])
    const answer = followRedirects(send)(post('https://api.test/'))
    if (times === 5) expect((await answer).status).toBe(200)
    else await expect(answer).rejects.toThrow('https://api.test redirects after 5 redirects')
    expect(requests).toHaveLength(6)
  })

  test.each([200, 300, 304, 404])('is none with status %d', async (status) => {
    const { send, requests, left } = scripted(() => [status, '/elsewhere'])
    expect((await followRedirects(send)(post(from))).status).toBe(status)
    expect(requests).toHaveLength(1)
    expect(left()).toBe(0)
  })
})

const body = [Buffer.from('{"ask"'), Buffer.from(':1}')]
const secrets = {
  accept: '*/*',
  authorization: 'Bearer sk-1',
  'proxy-authorization': 'Basic sk-2',
  cookie: 'sk-3',
  'x-api-key': 'sk-4',
  'x-goog-api-key': 'sk-5',
  'api-key': 'sk-6',
  'x-own-key': 'sk-7',
}

function post(url: string): HttpRequest {
  return { url, method: 'POST', headers: secrets, body }
}

async function textOf({ body }: HttpResponse): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** Answers with 200 unless told otherwise, and counts the bodies that were left unread. */
function scripted(answer: (url: string) => [status: number, location: string | undefined] | false) {
  const requests: HttpRequest[] = []
  let left = 0
  const unread = {
    next: async () => ({ done: true, value: undefined }) as const,
    return: async () => {
      left++
      return { done: true, value: undefined } as const
    },
  }
  const send: Transport = async (request) => {
    requests.push(request)
    const [status, location] = answer(request.url) || [200]
    const headers: Record<string, string> = location === undefined ? {} : { location }
    return { status, headers, body: { [Symbol.asyncIterator]: () => unread } }
  }
  return { send, requests, left: () => left }
}

async function serve(status = 200, location?: string) {
  let connections = 0
  const server = createServer(async (request, response) => {
    const sent = await textOf({ status: 0, headers: {}, body: request })
    const isMoved = location !== undefined && request.url === '/'
    response
      .writeHead(isMoved ? status : 200, isMoved ? { location } : {})
      .end(`${request.method} ${request.url} ${sent}`)
  })
  server.on('connection', () => connections++)
  opened.push(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, connections: () => connections }
}
