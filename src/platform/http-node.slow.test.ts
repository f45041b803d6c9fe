import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { getEventListeners, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createRawServer, type Server, type Socket } from 'node:net'
import { promisify } from 'node:util'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { fakeClock } from '../testing/fake-clock.ts'
import type { HttpRequest, HttpResponse } from './http.ts'
import { nodeTransport } from './http-node.ts'

const opened: (() => void)[] = []
afterEach(() => {
  for (const close of opened.splice(0)) close()
})

describe('a request', () => {
  test('arrives exact in many parts, with its length and without a wish for compression', async () => {
    const seen = Promise.withResolvers<{ headers: IncomingMessage['headers']; hash: string }>()
    const { url } = await serve((request, response) => {
      const hash = createHash('sha256')
      request.on('data', (chunk) => hash.update(chunk))
      request.on('end', () => {
        seen.resolve({ headers: request.headers, hash: hash.digest('hex') })
        response.end()
      })
    })
    const body = Array.from({ length: 5000 }, (_, i) => new Uint8Array(i % 3001).fill(i))
    const response = await nodeTransport()({ ...post(url), body })
    expect(await bytesOf(response)).toHaveLength(0)

    const whole = Buffer.concat(body)
    const { headers, hash } = await seen.promise
    expect(hash).toBe(createHash('sha256').update(whole).digest('hex'))
    expect(headers).toMatchObject({ 'content-length': String(whole.length), 'x-api-key': 'sk-secret' })
    expect(headers).not.toHaveProperty('transfer-encoding')
    expect(headers).not.toHaveProperty('accept-encoding')
  })

  test('without a body says so if it is a POST, and says nothing if it is a GET', async () => {
    const { url } = await serve((request, response) => response.end(String(request.headers['content-length'])))
    const send = nodeTransport()
    expect(await textOf(await send({ url, method: 'POST', headers: {} }))).toBe('0')
    expect(await textOf(await send({ url, method: 'GET', headers: {} }))).toBe('undefined')
  })

  test('shares one connection with a hundred others, one after the other', async () => {
    const { url, connections } = await serve((_, response) => response.end('yes'))
    const send = nodeTransport()
    for (let i = 0; i < 100; i++) expect(await textOf(await send(post(url)))).toBe('yes')
    expect(connections()).toBe(1)
  })
})

describe('an answer', () => {
  test('has its status and its headers in lower case, each as one text', async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(429, { 'Retry-After': '7', 'Set-Cookie': ['a=1', 'b=2'] }).end('{}')
    })
    const response = await nodeTransport()(post(url))
    expect(response).toMatchObject({ status: 429, headers: { 'retry-after': '7', 'set-cookie': 'a=1, b=2' } })
    expect(await textOf(response)).toBe('{}')
  })

  test('that comes before the whole request was sent is returned, and ends the sending', async () => {
    const { url, sockets, open } = await serveRaw((socket) => {
      socket.pause().write('HTTP/1.1 413 Too Large\r\nContent-Length: 4\r\n\r\nbig!')
    })
    const body = Array.from({ length: 64 }, () => new Uint8Array(1 << 20))
    const response = await nodeTransport()({ ...post(url), body })
    expect(response.status).toBe(413)
    expect(await textOf(response)).toBe('big!')
    sockets[0]!.resume()
    await until(() => open() === 0)
    expect(sockets[0]!.bytesRead).toBeLessThan(64 << 20)
  })

  test('is the same however its bytes are cut', async () => {
    const text = 'data: {"text":"Grüße 🌍"}\r\n\r\n'.repeat(2)
    const wire = Buffer.concat([...Buffer.from(text)].map((byte) => Buffer.from([49, 13, 10, byte, 13, 10])))
    for (const size of [1, 5, 7, 1000]) {
      const { url } = await serveRaw(async (socket) => {
        socket.setNoDelay().write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
        for (let at = 0; at < wire.length; at += size) {
          socket.write(wire.subarray(at, at + size))
          await turn()
        }
        socket.write('0\r\n\r\n')
      })
      expect(await textOf(await nodeTransport()(post(url)))).toBe(text)
    }
  })

  test('of many small chunks is handed over in few reads', async () => {
    const line = `data: ${'x'.repeat(90)}\n\n`
    const { url } = await serve((_, response) => {
      for (let i = 0; i < 20_000; i++) response.write(line)
      response.end()
    })
    let reads = 0
    let size = 0
    for await (const chunk of (await nodeTransport()(post(url))).body) {
      reads++
      size += chunk.length
    }
    expect(size).toBe(20_000 * line.length)
    expect(reads).toBeLessThan(5000)
  })

  test('that is not read is not buffered', async () => {
    const part = Buffer.alloc(1 << 20)
    let sent = 0
    const { url } = await serve((_, response) => {
      const more = () => {
        while (sent < 256 && !response.destroyed) {
          sent++
          if (!response.write(part)) return void response.once('drain', more)
        }
      }
      more()
    })
    const { body } = await nodeTransport()(post(url))
    for (let still = 0, last = -1; still < 20; last = sent) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      still = sent === last ? still + 1 : 0
    }
    expect(sent).toBeLessThan(200)
    await body[Symbol.asyncIterator]().return?.()
  })

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('in %s is decoded, although it was not requested', async (encoding, compress) => {
    const text = 'data: {}\n\n'.repeat(1000)
    const { url } = await serve((_, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end(compress(text))
    })
    expect(await textOf(await nodeTransport()(post(url)))).toBe(text)
  })

  test.each(['zstd', 'gzip, br', 'constructor'])('in the encoding %s is refused', async (encoding) => {
    const { url, closed } = await serve((_, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).write('?')
    })
    await expect(nodeTransport()(post(url))).rejects.toThrow(`encoded as ${encoding}`)
    await closed()
  })

  test.each([
    [204, {}],
    [500, { 'content-length': '0' }],
  ])('of %d that is empty need not be decoded', async (status, headers) => {
    const { url } = await serve((_, response) => {
      response.writeHead(status, { 'content-encoding': 'gzip', ...headers }).end()
    })
    expect(await textOf(await nodeTransport()(post(url)))).toBe('')
  })

  test('that was compressed badly fails by its code', async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(100)).subarray(0, 20))
    })
    const response = await nodeTransport()(post(url))
    await expect(bytesOf(response)).rejects.toMatchObject({ code: 'Z_BUF_ERROR' })
  })

  test.each([
    ['after its first bytes', 1],
    ['before its first bytes', 0],
  ])('left %s closes the connection', async (_, reads) => {
    const { url, closed } = await serve((_, response) => void response.write('data: 1\n\n'))
    const controller = new AbortController()
    const { body } = await nodeTransport()({ ...post(url), signal: controller.signal })
    const iterator = body[Symbol.asyncIterator]()
    for (let i = 0; i < reads; i++) expect(await iterator.next()).toMatchObject({ done: false })
    await iterator.return?.()
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    await closed()
  })
})

describe('a broken connection', () => {
  const heads = {
    'a length': 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n',
    chunks: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
    'chunks of gzip': 'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n',
  }
  const cuts = Object.entries(heads).flatMap(([kind, head]) =>
    (['end', 'resetAndDestroy'] as const).map((cut) => [kind, cut, head] as const),
  )

  test.each(cuts)('FP-10 after the headers fails the answer: %s, %s', async (_, cut, head) => {
    const { url, sockets } = await serveRaw((socket) => void socket.write(head))
    const response = await nodeTransport()(post(url))
    sockets[0]![cut]()
    await expect(bytesOf(response)).rejects.toMatchObject({
      code: 'ECONNRESET',
      message: expect.stringContaining(new URL(url).host),
    })
  })

  test.each(cuts.filter(([kind]) => kind !== 'chunks of gzip'))(
    'FP-11 FP-15 in the middle fails the answer after what had come: %s, %s',
    async (kind, cut, head) => {
      const { url, sockets } = await serveRaw(
        (socket) => void socket.write(`${head}${kind === 'chunks' ? '4\r\nabcd\r\n' : 'abcd'}`),
      )
      const iterator = (await nodeTransport()(post(url))).body[Symbol.asyncIterator]()
      expect(Buffer.from((await iterator.next()).value!).toString()).toBe('abcd')
      const next = iterator.next()
      sockets[0]![cut]()
      await expect(next).rejects.toMatchObject({ code: 'ECONNRESET' })
    },
  )

  test('FP-11 hands over what had come even if the break came before the read', async () => {
    const { url, sockets } = await serveRaw((socket) => void socket.write(`${heads.chunks}4\r\nabcd\r\n`))
    const controller = new AbortController()
    const { body } = await nodeTransport()({ ...post(url), signal: controller.signal })
    await until(() => sockets[0]!.bytesWritten > 0)
    await turn()
    sockets[0]!.end()
    await until(() => getEventListeners(controller.signal, 'abort').length === 0)
    const iterator = body[Symbol.asyncIterator]()
    expect(Buffer.from((await iterator.next()).value!).toString()).toBe('abcd')
    await expect(iterator.next()).rejects.toMatchObject({ code: 'ECONNRESET' })
  })

  test.each(['end', 'resetAndDestroy'] as const)('before the headers fails a first request: %s', async (cut) => {
    const { url, sockets } = await serveRaw((socket) => void socket[cut]())
    await expect(nodeTransport()(post(url))).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(sockets).toHaveLength(1)
  })

  test.each(['end', 'destroy', 'resetAndDestroy'] as const)(
    'FP-36 that had been idle is replaced and the request sent once more: %s',
    async (cut) => {
      const { url, sockets, requests } = await serveRaw((socket) => {
        if (requests.length === 2) socket[cut]()
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      })
      const send = nodeTransport()
      expect(await textOf(await send(post(url)))).toBe('ok')
      expect(await textOf(await send(post(url)))).toBe('ok')
      expect(sockets).toHaveLength(2)
      expect(requests).toHaveLength(3)
      expect(requests[2]).toContain('\r\n\r\n{"ask":1}')
    },
  )

  test('FP-36 is replaced by a new one, not by another that had been idle', async () => {
    const idle: Socket[] = []
    const { url, sockets, requests } = await serveRaw((socket) => {
      if (requests.length > 2 && idle.includes(socket)) return socket.resetAndDestroy()
      if (requests.length <= 2) idle.push(socket)
      if (requests.length < 2) return
      for (const each of requests.length === 2 ? idle : [socket])
        each.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
    const send = nodeTransport()
    const both = await Promise.all([send(post(url)), send(post(url))])
    expect(await Promise.all(both.map(textOf))).toEqual(['ok', 'ok'])
    expect(await textOf(await send(post(url)))).toBe('ok')
    expect(requests).toHaveLength(4)
    expect(sockets).toHaveLength(3)
  })

  test('FP-36 is replaced only once', async () => {
    const { url, requests } = await serveRaw((socket) => {
      if (requests.length === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      else socket.resetAndDestroy()
    })
    const send = nodeTransport()
    expect(await textOf(await send(post(url)))).toBe('ok')
    await expect(send(post(url))).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(requests).toHaveLength(3)
  })

  test('FP-36 is not replaced once the answer has begun', async () => {
    const { url, requests } = await serveRaw((socket) => {
      if (requests.length === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      else socket.end('HTTP/1.1 2')
    })
    const send = nodeTransport()
    expect(await textOf(await send(post(url)))).toBe('ok')
    await expect(send(post(url))).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(requests).toHaveLength(2)
  })

  test('an unrequested upgrade is an error', async () => {
    const { url } = await serveRaw(
      (socket) => void socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
    )
    await expect(nodeTransport()(post(url))).rejects.toMatchObject({ code: 'ECONNRESET' })
  })
})

describe('a connection that is not made', () => {
  test('FP-09 is reported with host and code, without query, header or key', async () => {
    const { url, close } = await serve(() => {})
    close()
    const error = await nodeTransport()({ ...post(url), url: `${url}/v1?key=sk-query` }).catch((error) => error)
    expect(error).toMatchObject({ code: 'ECONNREFUSED', message: expect.stringContaining(new URL(url).host) })
    expect(`${error.stack} ${JSON.stringify(error)}`).not.toMatch(/sk-|v1|api-key/)
  })

  test.each([
    ['is no URL', 'sk-secret'],
    ['is no web address', 'file:///sk-secret'],
  ])('an address that %s is refused without being quoted', async (_, url) => {
    const error = await nodeTransport()({ ...post(''), url }).catch((error) => error)
    expect(error).toMatchObject({ message: expect.stringMatching(/use|check/) })
    expect(`${error.stack} ${JSON.stringify(error)} ${error.cause}`).not.toContain('sk-')
  })

  test('a header that cannot be sent is refused without being quoted', async () => {
    const error = await nodeTransport()({ ...post('http://127.0.0.1:1'), headers: { 'x-api-key': 'sk-a\nb' } }).catch(
      (error) => error,
    )
    expect(error).toMatchObject({ code: 'ERR_INVALID_CHAR', message: expect.stringContaining('127.0.0.1:1') })
    expect(`${error.stack} ${JSON.stringify(error)} ${error.cause.stack}`).not.toContain('sk-')
  })

  test('FP-37 is given up after ten seconds, not before', async () => {
    const silent = await serveRaw(() => {})
    const clock = fakeClock()
    let failed = false
    const answer = nodeTransport({ clock })(post(silent.url.replace('http:', 'https:')))
    answer.catch(() => (failed = true))
    await until(() => silent.requests.length > 0)
    await clock.advance(9_999)
    expect(failed).toBe(false)
    await clock.advance(1)
    await expect(answer).rejects.toMatchObject({ code: 'ETIMEDOUT', message: expect.stringContaining('10000 ms') })
    await silent.closed()
  })

  test('FP-37 an answer may take longer than that', async () => {
    const clock = fakeClock()
    const asked = Promise.withResolvers<ServerResponse>()
    const { url } = await serve((_, response) => asked.resolve(response))
    const answer = nodeTransport({ clock })(post(url))
    const response = await asked.promise
    expect(clock.pending).toBe(0)
    await clock.advance(3_600_000)
    response.end('late')
    expect(await textOf(await answer)).toBe('late')
  })
})

describe('an abort', () => {
  const reason = new Error('enough')

  test('beforehand sends nothing', async () => {
    const { url, connections } = await serve(() => {})
    await expect(nodeTransport()({ ...post(url), signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(connections()).toBe(0)
  })

  test.each([0, 1, 2, 3, 4, 5, 6])('%d promises after the call closes what was opened', async (promises) => {
    const { url, connections, open } = await serve(() => {})
    const send = nodeTransport()
    const controller = new AbortController()
    const answer = send({ ...post(url), signal: controller.signal })
    for (let i = 0; i < promises; i++) await null
    controller.abort(reason)
    await expect(answer).rejects.toBe(reason)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    // A connection given back unused would be taken by the next request.
    const next = new AbortController()
    const second = send({ ...post(url), signal: next.signal })
    await until(() => open() === 1)
    expect(connections()).toBeLessThanOrEqual(2)
    next.abort(reason)
    await expect(second).rejects.toBe(reason)
    await until(() => open() === 0)
  })

  test('while connecting closes the connection', async () => {
    const { url, requests, closed } = await serveRaw(() => {})
    const controller = new AbortController()
    const clock = fakeClock()
    const secure = url.replace('http:', 'https:')
    const answer = nodeTransport({ clock })({ ...post(secure), signal: controller.signal })
    await until(() => requests.length > 0)
    controller.abort(reason)
    await expect(answer).rejects.toBe(reason)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    await closed()
    await until(() => clock.pending === 0)
  })

  test('while waiting for the headers closes the connection', async () => {
    const { url, requests, closed } = await serveRaw(() => {})
    const controller = new AbortController()
    const answer = nodeTransport()({ ...post(url), signal: controller.signal })
    await until(() => requests.length > 0)
    controller.abort(reason)
    await expect(answer).rejects.toBe(reason)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    await closed()
    expect(requests).toHaveLength(1)
  })

  test('while waiting for headers on a kept connection does not send again', async () => {
    const { url, requests, closed } = await serveRaw((socket) => {
      if (requests.length === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
    const send = nodeTransport()
    expect(await textOf(await send(post(url)))).toBe('ok')
    const controller = new AbortController()
    const reason = Object.assign(new Error('enough'), { code: 'ECONNRESET' })
    const answer = send({ ...post(url), signal: controller.signal })
    await until(() => requests.length === 2)
    controller.abort(reason)
    await expect(answer).rejects.toBe(reason)
    await closed()
    expect(requests).toHaveLength(2)
  })

  test.each([
    ['identity', (text: string) => Buffer.from(text)],
    ['gzip', gzipSync],
  ])('in the middle of an answer in %s ends a waiting read', async (encoding, coded) => {
    const { url, closed } = await serve((_, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).write(coded('data: 1\n\n'))
    })
    const controller = new AbortController()
    const { body } = await nodeTransport()({ ...post(url), signal: controller.signal })
    const iterator = body[Symbol.asyncIterator]()
    expect(Buffer.from((await iterator.next()).value!).toString()).toBe('data: 1\n\n')
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)
    const next = iterator.next()
    controller.abort(reason)
    await expect(next).rejects.toBe(reason)
    await closed()
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  test('between two reads hands over nothing more', async () => {
    const { url, closed } = await serve((_, response) => void response.write('data: 1\n\n'))
    const controller = new AbortController()
    const { body } = await nodeTransport()({ ...post(url), signal: controller.signal })
    controller.abort(reason)
    await expect(body[Symbol.asyncIterator]().next()).rejects.toBe(reason)
    await closed()
  })

  test('never comes to a signal that many requests shared, and none of them still listens to it', async () => {
    const { url } = await serve((request, response) => {
      if (request.url === '/cut') request.socket.destroy()
      else response.end('yes')
    })
    const { signal } = new AbortController()
    const send = nodeTransport()
    for (let i = 0; i < 20; i++) {
      const requests = Array.from({ length: 20 }, (_, k) =>
        send({ ...post(url), url: k % 5 ? url : `${url}/cut`, signal }),
      )
      await Promise.all(requests.map((answer) => answer.then(bytesOf, () => {})))
      expect(getEventListeners(signal, 'abort')).toEqual([])
    }
  })
})

describe('a proxy', () => {
  test('of the environment is used, but not for the hosts that are excepted', async () => {
    const target = await serve((_, response) => response.end('direct'))
    const proxy = await serve((request, response) => response.end(`proxied ${request.url}`))
    const env = { HTTP_PROXY: proxy.url }
    expect(await textOf(await nodeTransport({ env })(post(target.url)))).toBe(`proxied ${target.url}/`)
    const except = { ...env, NO_PROXY: '127.0.0.1' }
    expect(await textOf(await nodeTransport({ env: except })(post(target.url)))).toBe('direct')
  })

  test('that cannot be used is refused without being quoted', async () => {
    const env = { http_proxy: 'http://me:sk-secret@[' }
    const error = await nodeTransport({ env })(post('http://127.0.0.1:1')).catch((error) => error)
    expect(error.message).toContain('HTTP_PROXY')
    expect(`${error.stack} ${JSON.stringify(error)} ${error.cause}`).not.toContain('sk-')
  })
})

test('a process that made a request ends by itself, and has loaded no more than it needed', async () => {
  const { url } = await serve((_, response) => response.end('yes'))
  const script = `
    const { defaultTransport } = await import(${JSON.stringify(new URL('./http.ts', import.meta.url).href)})
    const send = defaultTransport()
    const loaded = () => ['http', 'https', 'zlib'].filter((name) => process.moduleLoadList.includes('NativeModule ' + name))
    console.log(loaded().join())
    const { body } = await send({ url: ${JSON.stringify(url)}, method: 'GET', headers: {} })
    for await (const chunk of body) console.log(Buffer.from(chunk).toString())
    console.log(loaded().join())`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    timeout: 15_000,
  })
  expect(stdout).toBe('\nyes\nhttp\n')
})

function post(url: string): HttpRequest {
  return {
    url,
    method: 'POST',
    headers: { 'x-api-key': 'sk-secret' },
    body: [Buffer.from('{"ask"'), Buffer.from(':1}')],
  }
}

async function bytesOf({ body }: HttpResponse): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function textOf(response: HttpResponse): Promise<string> {
  return (await bytesOf(response)).toString()
}

function serve(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  return listening(createServer(answer))
}

/** Answers with bytes, once per read: small requests come whole. */
async function serveRaw(answer: (socket: Socket) => unknown) {
  const requests: string[] = []
  const sockets: Socket[] = []
  const server = createRawServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.on('data', (data) => {
      requests.push(data.toString('latin1'))
      answer(socket)
    })
  })
  return { ...(await listening(server)), requests, sockets }
}

async function listening(server: Server) {
  const sockets = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket) => {
    connections++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const close = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  opened.push(close)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const closed = () => until(() => sockets.size === 0)
  return { url, close, closed, connections: () => connections, open: () => sockets.size }
}

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 5000 && !condition(); i++) await turn()
  expect(condition()).toBe(true)
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1))
}
