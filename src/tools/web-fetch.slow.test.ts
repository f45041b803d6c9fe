import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { createAgent } from '../index.ts'
import { call, scripted } from '../testing/index.ts'
import { createWebFetchTool, type WebFetchOptions } from './web-fetch.ts'

const servers: Server[] = []
afterEach(async () => {
  await Promise.all(servers.splice(0).map(close))
})

describe('a page', () => {
  test('comes as readable text with its title, its links made whole, and nothing of its furniture', async () => {
    const at = await serve((_, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8')
      response.end(`<!doctype html><title>The  Libero</title><script>alert(1)</script><style>p{}</style>
        <nav>Menu</nav><h1>A free defender</h1><p>He plays <a href="/behind">behind</a> the line &amp; sweeps.</p>
        <ul><li>one</li><li>two</li></ul><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>`)
    })
    const { output } = await fetchPage(`${at}/libero`)
    expect(output).toContain(`200 ${at}/libero\n\n# The Libero\n\nA free defender`)
    expect(output).toContain(`He plays behind (${at}/behind) the line & sweeps.`)
    expect(output).toMatch(/\* one\n.*\* two/)
    expect(output).toMatch(/a \| b \|\s*\n1 \| 2/)
    expect(output).not.toMatch(/alert|p\{\}|Menu/)
  })

  test('comes as it is when that is asked for', async () => {
    const at = await serveText('text/html', '<p>raw</p>')
    expect((await fetchPage(at, { extractText: false })).output).toBe(`200 ${at}/\n\n<p>raw</p>`)
  })

  test('is decoded as its header says, or its head', async () => {
    const latin = Buffer.from('caf\xe9', 'latin1')
    expect((await fetchPage(await serveText('text/plain; charset=iso-8859-1', latin))).output).toContain('café')
    const page = Buffer.from('<meta charset="windows-1252"><p>caf\xe9', 'latin1')
    expect((await fetchPage(await serveText('text/html', page))).output).toContain('café')
    expect((await fetchPage(await serveText('text/plain; charset=klingon', 'plain'))).output).toContain('plain')
  })

  test.each([
    ['gzip', gzipSync('packed')],
    ['br', brotliCompressSync('packed')],
  ])('is unpacked from %s', async (encoding, bytes) => {
    const at = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': encoding }).end(bytes)
    })
    expect((await fetchPage(at)).output).toContain('packed')
  })

  test('that is long comes in parts that join, never cut through a character', async () => {
    const text = 'a🎈'.repeat(50)
    const at = await serveText('text/plain', text)
    let read = ''
    for (let offset = 0; offset < text.length; ) {
      const { output } = await fetchPage(at, { offset }, { maxCharacters: 20 })
      const [, body = '', next] = /\n\n(.*?)(?:\n\n\(characters .* offset=(\d+)\))?$/s.exec(output) ?? []
      expect(body.isWellFormed()).toBe(true)
      read += body
      offset = next === undefined ? text.length : Number(next)
    }
    expect(read).toBe(text)
    expect((await fetchPage(at, { offset: 9999 })).output).toContain('ends before 9999')
  })

  test('that fails is an error with what the server said', async () => {
    const at = await serve((_, response) => response.writeHead(404, { 'content-type': 'text/plain' }).end('gone'))
    expect(await fetchPage(at)).toMatchObject({ output: `404 ${at}/\n\ngone`, isError: true })
  })

  test('UI-01 has no control characters that do something', async () => {
    const at = await serveText('text/plain', 'a\x1b[2Jb\x07\x9bc')
    expect((await fetchPage(at)).output).toContain('a␛[2Jb\\x07\\x9bc')
  })

  test('that is no text is named by its type; an image and a PDF come as blocks', async () => {
    const zip = await fetchPage(await serveText('application/zip', 'PK\x03\x04'))
    expect(zip.output).toContain('[no text: application/zip, 4 bytes]')
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    const at = await serveText('image/jpeg', Buffer.from(png, 'base64'))
    expect((await fetchPage(at)).output).toEqual([
      { type: 'text', text: `200 ${at}/` },
      { type: 'text', text: 'page: image/png, 1×1, 70 bytes' },
      { type: 'image', mediaType: 'image/png', data: png },
    ])
    const pdf = await fetchPage(`${await serveText('application/pdf', '%PDF-1.7\n%%EOF')}/a/bill.pdf`)
    expect(pdf.output[2]).toMatchObject({ type: 'document', mediaType: 'application/pdf', name: 'bill.pdf' })
  })

  test('FT-07 that is a broken image is not shown to the model', async () => {
    const cut = await serveText('image/png', Buffer.from('89504e470d0a1a0a', 'hex'))
    expect((await fetchPage(cut)).output).toContain('damaged or cut off')
    const none = await serveText('image/png', 'no image at all')
    expect((await fetchPage(none)).output).toContain('[no text: image/png, 15 bytes]')
  })

  test('sends no cookies and says who asks', async () => {
    let asked: object = {}
    const at = await serve(({ headers }, response) => {
      asked = headers
      response.end('ok')
    })
    await fetchPage(at, {}, { userAgent: 'tests' })
    expect(asked).toMatchObject({ 'user-agent': 'tests' })
    expect(Object.keys(asked).filter((name) => /cookie|auth|key|referer/.test(name))).toEqual([])
  })
})

describe('what is not on the public internet', () => {
  test.each([
    ['NET-01', 'http://169.254.169.254/latest/meta-data/'],
    ['NET-01', 'http://metadata.google.internal/'],
    ['NET-01', 'http://100.100.100.200/'],
    ['NET-02', 'http://2130706433/'],
    ['NET-02', 'http://0x7f000001/'],
    ['NET-02', 'http://0177.0.0.1/'],
    ['NET-02', 'http://127.1/'],
    ['NET-02', 'http://0/'],
    ['NET-02', 'http://１２７.0.0.1/'],
    ['NET-03', 'http://[::1]/'],
    ['NET-03', 'http://[::ffff:127.0.0.1]/'],
    ['NET-03', 'http://[0:0:0:0:0:ffff:7f00:1]/'],
    ['NET-05', 'http://[64:ff9b::7f00:1]/'],
    ['NET-05', 'http://[2002:7f00:1::]/'],
    ['NET-05', 'http://[fd00::1]/'],
    ['NET-05', 'http://[fe80::1]/'],
    ['NET-05', 'http://100.64.0.1/'],
    ['NET-05', 'http://198.18.0.1/'],
    ['', 'http://localhost:8080/'],
    ['', 'http://LOCALHOST./'],
    ['', 'http://a.localhost/'],
    ['', 'http://printer.local/'],
    ['', 'http://192.168.0.1/'],
  ])('%s %s is refused', async (_, url) => {
    const { output, isError } = await fetchPage(url, {}, { allowPrivate: [] })
    expect(isError).toBe(true)
    expect(output).toMatch(/^Tool error: .* is not on the public internet/)
  })

  test.each([
    ['NET-07 a name that leads there', ['127.0.0.1']],
    ['NET-07 a name that leads there over IPv6', ['::1', 'fd00::1']],
    ['S14 a name that leads there and elsewhere', ['127.0.0.1', '1.1.1.1']],
    ['S14 a name that leads elsewhere and there', ['1.1.1.1', '127.0.0.1']],
  ])('%s is refused after the look-up', async (_, addresses) => {
    const at = await serve((_, response) => response.end('secret'))
    const url = `http://evil.test:${new URL(at).port}/`
    const { output } = await fetchPage(url, {}, { allowPrivate: [], resolve: async () => addresses })
    expect(output).toBe(
      'Tool error: evil.test is not on the public internet: this machine, private networks and metadata services cannot be fetched',
    )
  })

  test('NET-07 the address that was checked is the one connected to: a name is looked up once', async () => {
    const first = await serve((_, response) => response.end('first'))
    const { port } = new URL(first)
    await serve((_, response) => response.end('second'), '127.0.0.2', Number(port))
    let lookups = 0
    const resolve = async () => (++lookups === 1 ? ['127.0.0.1'] : ['127.0.0.2'])
    const options = { allowPrivate: [`swap.test:${port}`], resolve }
    expect((await fetchPage(`http://swap.test:${port}/`, {}, options)).output).toContain('first')
    expect(lookups).toBe(1)
  })

  test('NET-06 a redirect cannot lead there, by name, number or scheme', async () => {
    const hidden = await serve((_, response) => response.end('secret'))
    const { port } = new URL(hidden)
    for (const to of [
      hidden,
      `http://[::1]:${port}/`,
      `http://evil.test:${port}/`,
      'file:///etc/passwd',
      'http://0/',
    ]) {
      const at = await serve((_, response) => response.writeHead(302, { location: to }).end())
      const options = { allowPrivate: [new URL(at).host], resolve: async () => ['127.0.0.1'] }
      const { output } = await fetchPage(at, {}, options)
      expect(output, to).toMatch(/not on the public internet|only http and https|another host, which was not asked/)
      expect(output, to).not.toContain('secret')
    }
  })

  test('S07 a redirect to another host is reported and not followed, so that the rules judge it', async () => {
    let asked = 0
    const other = await serve((_, response) => response.end(`secret ${++asked}`), '127.0.0.2')
    for (const status of [301, 302, 303, 307, 308]) {
      const at = await serve((_, response) => response.writeHead(status, { location: `${other}/x` }).end())
      const options = { allowPrivate: ['127.0.0.1', '127.0.0.2'] }
      expect(await fetchPage(at, {}, options)).toEqual({
        output: `${status} ${at}/\n\n(redirects to another host, which was not asked: ${other}/x\nto go on, call web_fetch with that address)`,
        isError: false,
        details: { url: `${at}/`, status, redirectsTo: `${other}/x` },
      })
    }
    expect(asked).toBe(0)
  })

  test('S07 a redirect to another spelling or port of the same host is followed', async () => {
    const other = await serve((_, response) => response.end('moved'))
    const { port } = new URL(other)
    const at = await serve((_, response) => response.writeHead(302, { location: `http://A.test.:${port}/` }).end())
    const options = { allowPrivate: ['a.test'], resolve: async () => ['127.0.0.1'] }
    expect((await fetchPage(`http://a.test:${new URL(at).port}/`, {}, options)).output).toContain('moved')
  })

  test('NET-06 a loop of redirects ends', async () => {
    let asked = 0
    const at = await serve((_, response) => {
      asked++
      response.writeHead(302, { location: '/again' }).end()
    })
    expect((await fetchPage(at)).output).toContain('redirects more than 5 times')
    expect(asked).toBe(6)
  })

  test('NET-06 redirects that stay outside are followed, and the last address is told', async () => {
    const at = await serve(({ url }, response) => {
      if (url === '/old') response.writeHead(301, { location: '/new' }).end()
      else response.end('moved')
    })
    expect((await fetchPage(`${at}/old`)).output).toBe(`200 ${at}/new\n\nmoved`)
  })
})

describe('an address that is none', () => {
  test.each([
    ['NET-09', 'file:///etc/passwd', 'only http and https can be fetched, not file:'],
    ['NET-09', 'ftp://example.test/', 'not ftp:'],
    ['NET-09', 'gopher://example.test/', 'not gopher:'],
    ['NET-09', 'data:text/html,hi', 'not data:'],
    ['NET-09', 'blob:https://example.test/1', 'not blob:'],
    ['NET-09', 'javascript:alert(1)', 'not javascript:'],
    ['NET-09', 'unix:/run/x.sock', 'not unix:'],
    ['NET-10', 'http://good.test@evil.test/', 'user name or password before evil.test'],
    ['NET-10', 'http://user:pass@good.test/', 'user name or password'],
    ['NET-10', 'http://good.test\\@evil.test/', 'backslash'],
    ['NET-10', 'http://ex\nample.test/', 'control character'],
    ['', 'example.com', 'is not a URL; give a whole one'],
    ['', '', 'is not a URL'],
  ])('%s %s is refused in words', async (_, url, words) => {
    const { output, isError } = await fetchPage(url)
    expect(isError).toBe(true)
    expect(output).toContain(words)
  })
})

describe('a list of hosts', () => {
  test.each([
    ['docs.good.test', true],
    ['DOCS.good.test.', true],
    ['good.test', false],
    ['docs.good.test.evil.test', false],
    ['evilgood.test', false],
    ['xdocs.good.test', false],
    ['a.wide.test', true],
    ['a.b.wide.test', true],
    ['wide.test', false],
    ['evilwide.test', false],
    ['xn--bcher-kva.test', true],
    ['bücher.test', true],
    ['bucher.test', false],
  ])('NET-11 %s: %s', async (host, isAllowed) => {
    const at = await serve((_, response) => response.end('inside'))
    const { port } = new URL(at)
    const allow = ['docs.good.test', '*.wide.test', 'bücher.test']
    const all = ['*.test', 'good.test', 'wide.test', 'evilgood.test', 'evilwide.test'].map((name) => `${name}:${port}`)
    const options = { allow, allowPrivate: all, resolve: async () => ['127.0.0.1'] }
    const { output } = await fetchPage(`http://${host}:${port}/`, {}, options)
    expect(output).toContain(isAllowed ? 'inside' : 'is not on the list of hosts that may be asked')
  })

  test.each([
    '*',
    '*.',
    'a.*.test',
    'http://x.test/',
    '',
    'x.test:',
    'x.test:abc',
    '.x.test',
    'x..test',
    '[::1',
    'a:b:c',
  ])('a rule that would mean anything is an error: "%s"', async (rule) => {
    expect((await fetchPage('http://x.test/', {}, { allow: [rule] })).output).toContain('which is no host')
  })
})

describe('a server that is not kind', () => {
  test('NET-12 a bomb is unpacked up to the limit and no further', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024, 'x'))
    const at = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }).end(bomb)
    })
    const { output, details } = await fetchPage(at, {}, { maxBytes: 100_000, maxCharacters: 200_000 })
    expect(output).toContain('(the page is longer than what was read of it)')
    expect(details).toMatchObject({ bytes: 100_000 })
  })

  test('NET-12 an endless body is left', async () => {
    let isLeft: (value?: unknown) => void = () => {}
    const left = new Promise((resolve) => (isLeft = resolve))
    const at = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      const more = setInterval(() => response.write('y'.repeat(10_000)), 1)
      response.once('close', () => {
        clearInterval(more)
        isLeft()
      })
    })
    expect((await fetchPage(at, {}, { maxBytes: 50_000 })).output).toContain('longer than what was read')
    await left
  })

  test('NET-12 a body that drips ends with the time limit', async () => {
    const at = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      response.write('drip')
    })
    expect((await fetchPage(at, {}, { timeoutMs: 150 })).output).toMatch(/^Tool error: .*150/)
  })

  test('NET-12 huge headers are an error', async () => {
    const at = await serve((_, response) => {
      response.socket!.end(`HTTP/1.1 200 OK\r\nx-huge: ${'h'.repeat(100_000)}\r\n\r\n`)
    })
    expect(await fetchPage(at)).toMatchObject({ isError: true, output: expect.stringContaining('Header overflow') })
  })

  test('HTML that is broken still gives an answer', async () => {
    for (const html of ['<a href="', '<', '</p></p>', '<p>x'.repeat(10_000)])
      expect((await fetchPage(await serveText('text/html', html))).isError).toBe(false)
  })
})

test('NET-14 proxies of the environment are not used', async () => {
  const proxy = await serve((_, response) => response.end('from the proxy'))
  const at = await serve((_, response) => response.end('direct'))
  const before = process.env.HTTP_PROXY
  process.env.HTTP_PROXY = proxy
  try {
    expect((await fetchPage(at)).output).toContain('direct')
  } finally {
    if (before === undefined) delete process.env.HTTP_PROXY
    else process.env.HTTP_PROXY = before
  }
})

test('declares what it is', () => {
  const tool = createWebFetchTool({ timeoutMs: 5_000 })
  expect(tool).toMatchObject({ isConcurrencySafe: true, replay: 'pure', effects: ['net'], timeoutMs: 5_000 })
  expect(tool.deriveApprovalKey?.({ url: 'https://docs.test/a?b' })).toBe('docs.test')
})

/** What the model gets. The servers of these tests are private, so they are allowed one by one. */
async function fetchPage(url: string, input: object = {}, options: WebFetchOptions = {}) {
  const own = URL.parse(url)?.host ?? 'none'
  const provider = scripted([call('1', 'web_fetch', { url, ...input })], 'done')
  const web_fetch = createWebFetchTool({ allowPrivate: own === '' ? [] : [own], ...options })
  const agent = createAgent({ provider, tools: { web_fetch } })
  let details: unknown
  agent.hooks.hook('tool:after', (ctx) => void (details = ctx.details))
  await agent.run({ prompt: 'go' })
  const [result] = provider.requests[1]!.messages.at(-1)!.content
  if (result?.type !== 'tool_result') throw new Error('no result')
  return { output: result.output as string, isError: result.isError ?? false, details }
}

const serveText = (type: string, body: string | Buffer): Promise<string> =>
  serve((_, response) => response.writeHead(200, { 'content-type': type }).end(body))

async function serve(listener: RequestListener, host = '127.0.0.1', port = 0): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  return `http://${host}:${(server.address() as AddressInfo).port}`
}

function close(server: Server): Promise<unknown> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(resolve))
}
