import { createServer, type IncomingHttpHeaders, request, type Server } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { domainToASCII } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { createEgressProxy, type EgressProxyOptions } from './egress-proxy.ts'
import type { EgressEvent } from './options.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

describe('where it goes', () => {
  test('an allowed host is reached, by a plain request and through a tunnel', async () => {
    const port = await web((asked) => `you asked ${asked}`)
    const { ask, tunnel, events } = await proxy({ allow: [`localhost:${port}`] })
    expect(await ask(`http://localhost:${port}/a?b`)).toMatchObject({ status: 200, text: 'you asked GET /a?b' })
    const answer = await tunnel(`localhost:${port}`, 'GET /tunnelled HTTP/1.0\r\n\r\n')
    expect(answer).toContain('HTTP/1.1 200 Connection established')
    expect(answer).toContain('you asked GET /tunnelled')
    expect(events).toMatchObject([
      { host: 'localhost', port, allowed: true, bytesReceived: 18 },
      { host: 'localhost', port, allowed: true, bytesSent: 27 },
    ])
  })

  test('a body is sent on, and the answer comes back with its status and headers', async () => {
    const port = await web((asked, body) => `${asked} ${body}`, 201)
    const { ask } = await proxy({ allow: ['127.0.0.1'] })
    const answer = await ask(`http://127.0.0.1:${port}/`, { method: 'PUT', body: 'x'.repeat(100_000) })
    expect(answer).toMatchObject({ status: 201, text: `PUT / ${'x'.repeat(100_000)}`, headers: { 'x-from': 'web' } })
  })

  test('what is not on the list is refused, and told', async () => {
    const port = await web(() => 'secret')
    const { ask, tunnel, events, refusals } = await proxy({ allow: ['registry.test', `localhost:${port + 1}`] })
    expect(await ask(`http://localhost:${port}/`)).toMatchObject({ status: 403 })
    expect(await tunnel(`127.0.0.1:${port}`)).toMatch(/^HTTP\/1\.1 403 /)
    expect(events.map(({ allowed, host }) => [host, allowed])).toEqual([
      ['localhost', false],
      ['127.0.0.1', false],
    ])
    expect(refusals[0]).toContain(`localhost:${port} is not allowed (only registry.test, localhost:${port + 1})`)
  })

  test('what is denied is refused, although it is allowed', async () => {
    const port = await web(() => 'secret')
    const { ask, tunnel } = await proxy({ allow: ['localhost', '127.0.0.1'], deny: ['localhost'] })
    expect(await ask(`http://localhost:${port}/`)).toMatchObject({ status: 403 })
    expect(await tunnel(`LOCALHOST.:${port}`)).toMatch(/^HTTP\/1\.1 403 /)
    expect(await ask(`http://127.0.0.1:${port}/`)).toMatchObject({ status: 200 })
  })

  test('NET-11 a rule names whole labels, whatever the spelling', async () => {
    const { reaches } = await proxy({
      allow: ['good.test', '*.x.test', 'bücher.test'],
      resolve: async () => ['1.1.1.1'],
    })
    const reached = ['good.test', 'GOOD.test', 'good.test.', 'a.x.test', 'a.b.x.test', 'xn--bcher-kva.test']
    const refused = ['docs.good.test', 'evilgood.test', 'good.test.evil.test', 'x.test', 'evilx.test', 'bucher.test']
    for (const host of reached) expect(`${host} ${await reaches(host)}`).toBe(`${host} 1.1.1.1`)
    // The о is Cyrillic.
    for (const host of [...refused, domainToASCII('gооd.test')])
      expect(`${host} ${await reaches(host)}`).toBe(`${host} refused`)
  })

  test('a rule for everything is none', () => {
    for (const rule of ['*', '*.', '', '*.*', 'a*.test', 'http://x.test', 'x.test/path'])
      expect(() => createEgressProxy({ allow: [rule] })).toThrow(TypeError)
  })
})

describe('which address it takes', () => {
  const inside = [
    '127.0.0.1',
    '10.0.0.7',
    '169.254.169.254',
    '192.168.1.1',
    '100.64.0.1',
    '::1',
    'fd00::1',
    '::ffff:127.0.0.1',
  ]

  test('a name that leads inside is refused, unless that very address is allowed', async () => {
    for (const address of inside) {
      const { reaches } = await proxy({ allow: ['name.test'], resolve: async () => [address] })
      expect(`${address} ${await reaches('name.test')}`).toBe(`${address} refused`)
    }
    const { reaches } = await proxy({ allow: ['name.test', '10.0.0.7:443'], resolve: async () => ['10.0.0.7'] })
    expect(await reaches('name.test', 443)).toBe('10.0.0.7')
    expect(await reaches('name.test', 80)).toBe('refused')
  })

  test('S14 a name with a public and a private address is refused', async () => {
    for (const addresses of [
      ['127.0.0.1', '1.1.1.1'],
      ['1.1.1.1', 'fd00::1'],
    ]) {
      const { reaches } = await proxy({ allow: ['name.test'], resolve: async () => addresses })
      expect(await reaches('name.test')).toBe('refused')
    }
  })

  test('NET-07 a name is looked up once, and the address that was checked is the one connected to', async () => {
    let asked = 0
    const resolve = async () => (asked++ === 0 ? ['1.1.1.1'] : ['127.0.0.1'])
    const { reaches } = await proxy({ allow: ['rebind.test'], resolve })
    expect(await reaches('rebind.test')).toBe('1.1.1.1')
    expect(asked).toBe(1)
    expect(await reaches('rebind.test')).toBe('refused')
  })

  test('NET-02 numbers in any spelling are the address they mean', async () => {
    const port = await web(() => 'inside')
    const { ask, tunnel } = await proxy({ allow: ['*.test'] })
    for (const host of ['2130706433', '0x7f000001', '0177.0.0.1', '127.1', '0', '[::1]', '[::ffff:127.0.0.1]']) {
      expect(await ask(`http://${host}:${port}/`)).toMatchObject({ status: 403 })
      expect(`${host} ${await tunnel(`${host}:${port}`)}`).toMatch(/HTTP\/1\.1 403 /)
    }
  })

  test('NET-06 a redirect to the inside is handed on, and refused when it is followed', async () => {
    const secret = await web(() => 'secret')
    const port = await web(() => '', 302, { location: `http://127.0.0.1:${secret}/` })
    const { ask } = await proxy({ allow: [`localhost:${port}`] })
    const answer = await ask(`http://localhost:${port}/`)
    expect(answer).toMatchObject({ status: 302, headers: { location: `http://127.0.0.1:${secret}/` } })
    expect(await ask(answer.headers.location!)).toMatchObject({ status: 403 })
  })
})

describe('what it understands', () => {
  test('NET-09 other schemes are refused', async () => {
    const { ask } = await proxy({ allow: ['localhost', 'x.test'] })
    for (const url of [
      'ftp://x.test/',
      'gopher://x.test/',
      'file:///etc/passwd',
      'https://x.test/',
      'unix:/run/x',
      '/',
    ])
      expect(`${url} ${(await ask(url)).status}`).toBe(`${url} 400`)
  })

  test('NET-10 user names, backslashes and control characters are refused', async () => {
    const port = await web(() => 'secret')
    const { ask, tunnel } = await proxy({ allow: ['good.test', '127.0.0.1'] })
    for (const url of [`http://good.test@127.0.0.1:${port}/`, `http://good.test\\@127.0.0.1:${port}/`])
      expect(`${url} ${(await ask(url)).status}`).toBe(`${url} 400`)
    for (const at of [
      `good.test@127.0.0.1:${port}`,
      `good.test\\@127.0.0.1:${port}`,
      'good.test',
      'good.test:0',
      '[x]:1',
    ])
      expect(`${at} ${await tunnel(at)}`).toMatch(/HTTP\/1\.1 400 /)
  })

  test('the host that is named is the host that was checked', async () => {
    const port = await web((_, __, host) => `to ${host}`)
    const { raw } = await proxy({ allow: [`localhost:${port}`] })
    const answer = await raw(
      `GET http://localhost:${port}/ HTTP/1.1\r\nHost: evil.test\r\nProxy-Authorization: x\r\nConnection: close\r\n\r\n`,
    )
    expect(answer).toContain(`to localhost:${port}`)
  })

  test('a host that does not answer is said to', async () => {
    const gone = await web(() => '')
    closing.splice(0).forEach((close) => void close())
    await new Promise((resolve) => setTimeout(resolve, 20))
    const { ask, tunnel, events } = await proxy({ allow: ['localhost'] })
    expect(await ask(`http://localhost:${gone}/`)).toMatchObject({ status: 502 })
    expect(await tunnel(`localhost:${gone}`)).toMatch(/^HTTP\/1\.1 502 /)
    const event = { host: 'localhost', port: gone, allowed: true, bytesSent: 0, bytesReceived: 0 }
    const reason = expect.stringContaining('could not be reached: connect ECONNREFUSED')
    expect(events).toEqual([
      { ...event, reason },
      { ...event, reason },
    ])
  })

  test('NET-15 when more was sent than may be, the way out is closed', async () => {
    const port = await web((_, body) => `${body.length} bytes`)
    const { ask, events, refusals } = await proxy({ allow: ['localhost'], maxUpload: 1300 })
    expect(await ask(`http://localhost:${port}/`, { method: 'POST', body: 'x'.repeat(900) })).toMatchObject({
      status: 200,
      text: '900 bytes',
    })
    const cut = await ask(`http://localhost:${port}/`, { method: 'POST', body: 'x'.repeat(1_000_000) }).catch(
      () => undefined,
    )
    expect(cut?.status ?? 403).toBe(403)
    expect(await ask(`http://localhost:${port}/`)).toMatchObject({ status: 403 })
    expect(events.map(({ allowed }) => allowed)).toEqual([true, true, false])
    expect(refusals[0]).toContain('nothing goes out any more')
  })

  test('NET-15 request lines and headers count like bodies, and do not go out when they are too much', async () => {
    const seen: string[] = []
    const port = await web((asked) => seen.push(asked).toString())
    const { ask, raw, tunnel, events } = await proxy({ allow: ['localhost'], maxUpload: 2000 })
    const head = (path: string, header = 'x') =>
      `GET ${path} HTTP/1.1\r\nx-h: ${header}\r\nhost: localhost:${port}\r\nconnection: close\r\n\r\n`
    const url = `http://localhost:${port}/`
    const given = (path: string, header: string) => raw(head(`http://localhost:${port}${path}`, header))
    expect(await given(`/${'p'.repeat(500)}`, 'h'.repeat(500))).toMatch(/^HTTP\/1\.1 200 /)
    expect(events[0]?.bytesSent).toBe(head(`/${'p'.repeat(500)}`, 'h'.repeat(500)).length)

    expect(await given(`/${'s'.repeat(1000)}`, 'x')).toMatch(/^HTTP\/1\.1 403 /)
    expect(await ask(url)).toMatchObject({ status: 403 })
    expect(await tunnel(`localhost:${port}`, 'x')).toMatch(/^HTTP\/1\.1 403 /)
    expect(seen).toEqual([`GET /${'p'.repeat(500)}`])
    expect(events[1]).toMatchObject({ allowed: true, bytesSent: 0, reason: expect.stringContaining('limit of 2000') })
  })

  test('a body that says its length only as it comes is sent on, whatever the method', async () => {
    const port = await web((asked, body) => `${asked} ${body}`)
    const { raw, events } = await proxy({ allow: ['localhost'] })
    for (const method of ['GET', 'DELETE', 'POST']) {
      const head = `${method} http://localhost:${port}/ HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nconnection: close`
      const answer = await raw(`${head}\r\n\r\n5\r\nhello\r\n0\r\n\r\n`)
      expect(answer).toMatch(/^HTTP\/1\.1 200 /)
      expect(answer).toContain(`${method} / hello`)
    }
    expect(events).toHaveLength(3)
  })

  test('a listener that throws does no harm', async () => {
    const port = await web(() => 'fine')
    const onEgress = () => {
      throw new Error('listener')
    }
    const { ask } = await proxy({ allow: ['localhost'], onEgress })
    expect(await ask(`http://localhost:${port}/`)).toMatchObject({ status: 200, text: 'fine' })
    expect(await ask('http://other.test/')).toMatchObject({ status: 403 })
  })
})

/** A web server on the loopback of this machine. */
async function web(
  answer: (asked: string, body: string, host: string | undefined) => string,
  status = 200,
  headers: Record<string, string> = {},
): Promise<number> {
  const server = createServer((asked, reply) => {
    let body = ''
    asked.setEncoding('utf8')
    asked.on('data', (text) => (body += text))
    asked.on('end', () => {
      reply.writeHead(status, { 'x-from': 'web', ...headers })
      reply.end(answer(`${asked.method} ${asked.url}`, body, asked.headers.host))
    })
  })
  return listening(server)
}

async function listening(server: Server | ReturnType<typeof createTcpServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.close()
    if ('closeAllConnections' in server) server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

interface Answer {
  readonly status: number | undefined
  readonly text: string
  readonly headers: IncomingHttpHeaders
}

async function proxy(options: EgressProxyOptions) {
  const events: EgressEvent[] = []
  const refusals: string[] = []
  const attempts: string[] = []
  const made = createEgressProxy({
    resolve: async (host) => (host === 'localhost' ? ['127.0.0.1'] : ['1.1.1.1']),
    connect(address, port) {
      attempts.push(address)
      return connect({ host: address.startsWith('127.') ? address : '127.0.0.1', port: unusedPort(address) ?? port })
    },
    onEgress: (event) => events.push(event),
    ...options,
  })
  const server = createTcpServer((socket: Socket) => made.serve(socket, (reason) => refusals.push(reason)))
  const port = await listening(server)
  closing.push(() => made.close())

  /** An unused port for addresses outside this machine. */
  function unusedPort(address: string): number | undefined {
    return address.startsWith('127.') ? undefined : 1
  }

  function raw(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let got = ''
      const socket = connect({ host: '127.0.0.1', port }, () => socket.write(text))
      socket.setEncoding('utf8')
      socket.on('data', (part) => (got += part))
      socket.on('error', reject)
      socket.on('close', () => resolve(got))
    })
  }

  function ask(url: string, { method = 'GET', body = '' } = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const asked = request({ host: '127.0.0.1', port, path: url, method, agent: false }, (reply) => {
        let text = ''
        reply.setEncoding('utf8')
        reply.on('data', (part) => (text += part))
        reply.on('error', reject)
        reply.on('end', () => resolve({ status: reply.statusCode, text, headers: reply.headers }))
      })
      asked.on('error', reject)
      asked.end(body)
    })
  }

  const tunnel = (to: string, then = '') => raw(`CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\n\r\n${then}`)

  /** The address that a name led to, or that it was refused. */
  async function reaches(host: string, at = 443): Promise<string> {
    const before = attempts.length
    const answer = await tunnel(`${host}:${at}`)
    if (/^HTTP\/1\.1 403 /.test(answer)) return 'refused'
    return attempts[before] ?? answer
  }

  return { ask, raw, tunnel, reaches, events, refusals }
}
