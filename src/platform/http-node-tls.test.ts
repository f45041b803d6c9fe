import { generateKeyPairSync, sign } from 'node:crypto'
import { getEventListeners, once } from 'node:events'
import { createServer as createProxy } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, connect, type Server, type Socket } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { fakeClock } from '../testing/fake-clock.ts'
import type { HttpRequest, HttpResponse } from './http.ts'
import { nodeTransport } from './http-node.ts'

const trusted = selfSigned()
const stranger = selfSigned()
const before = getCACertificates('default')
beforeAll(() => setDefaultCACertificates([trusted.cert]))
afterAll(() => setDefaultCACertificates(before))

const opened: (() => void)[] = []
afterEach(() => {
  for (const close of opened.splice(0)) close()
})

test('an exchange over TLS works, on one connection for many', async () => {
  const { url, connections } = await listening(createServer(trusted, (_, response) => response.end('safe')))
  const clock = fakeClock()
  const send = nodeTransport({ clock })
  for (let i = 0; i < 10; i++) expect(await textOf(await send(get(url)))).toBe('safe')
  expect(connections()).toBe(1)
  expect(clock.pending).toBe(0)
})

test('FP-09 an untrusted certificate is reported with host and code', async () => {
  const { url } = await listening(createServer(stranger, (_, response) => response.end('trap')))
  await expect(nodeTransport()(get(`${url}/?key=sk-secret`))).rejects.toMatchObject({
    code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    message: expect.stringMatching(new RegExp(`^No answer from ${new URL(url).host}: [^/?]*$`)),
  })
})

test.each(['end', 'destroy'] as const)('FP-36 a stale connection under TLS is replaced: %s', async (cut) => {
  let asked = 0
  const { url, connections } = await listening(
    createServer(trusted, (request, response) => {
      if (++asked === 2) request.socket[cut]()
      else response.end('safe')
    }),
  )
  const send = nodeTransport()
  expect(await textOf(await send(get(url)))).toBe('safe')
  expect(await textOf(await send(get(url)))).toBe('safe')
  expect(asked).toBe(3)
  expect(connections()).toBe(2)
})

test('FP-11 a cut under TLS fails the answer', async () => {
  const { url } = await listening(
    createServer(trusted, (request, response) => {
      response.write('half')
      setTimeout(() => request.socket.destroy(), 5)
    }),
  )
  const response = await nodeTransport()(get(url))
  await expect(textOf(response)).rejects.toMatchObject({ code: 'ECONNRESET' })
})

test('an HTTPS proxy of the environment carries the exchange through a tunnel', async () => {
  const target = await listening(createServer(trusted, (_, response) => response.end('safe')))
  const { proxy, tunnels } = await tunnelling((host) => connect(Number(host.split(':')[1]), '127.0.0.1'))
  const clock = fakeClock()
  const send = nodeTransport({ clock, env: { https_proxy: proxy.url.replace('https:', 'http:') } })
  expect(await textOf(await send(get(target.url)))).toBe('safe')
  expect(await textOf(await send(get(target.url)))).toBe('safe')
  expect(tunnels).toEqual([new URL(target.url).host])
  expect(clock.pending).toBe(0)
})

test('an abort while a tunnel is being made takes effect at once, and the connect timeout closes the socket', async () => {
  const { proxy, tunnels } = await tunnelling(() => undefined)
  const clock = fakeClock()
  const controller = new AbortController()
  const send = nodeTransport({ clock, env: { https_proxy: proxy.url.replace('https:', 'http:') } })
  const answer = send({ ...get('https://localhost:1'), signal: controller.signal })
  await until(() => tunnels.length === 1)
  const reason = new Error('enough')
  controller.abort(reason)
  await expect(answer).rejects.toBe(reason)
  expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  await clock.advance(10_000)
  await until(() => proxy.open() === 0)
})

function get(url: string): HttpRequest {
  return { url, method: 'GET', headers: {} }
}

async function textOf({ body }: HttpResponse): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** A proxy that only knows CONNECT. */
async function tunnelling(open: (host: string) => Socket | undefined) {
  const tunnels: string[] = []
  const server = createProxy().on('connect', (request, socket) => {
    tunnels.push(request.url!)
    const target = open(request.url!)
    socket.on('error', () => {})
    if (!target) return void socket.resume().on('end', () => socket.end())
    opened.push(() => target.destroy())
    target.on('error', () => {})
    target.once('connect', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      socket.pipe(target).pipe(socket)
    })
  })
  return { proxy: await listening(server), tunnels }
}

async function listening(server: Server) {
  const sockets = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket) => {
    connections++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  opened.push(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, connections: () => connections, open: () => sockets.size }
}

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 5000 && !condition(); i++) await new Promise((resolve) => setTimeout(resolve, 1))
  expect(condition()).toBe(true)
}

/** The least that TLS takes for a certificate, written in DER: for 127.0.0.1, on a fresh key. */
function selfSigned(): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const ecdsaWithSha256 = der(0x30, Buffer.from('06082a8648ce3d040302', 'hex'))
  const name = der(0x30, der(0x31, der(0x30, Buffer.from('0603550403', 'hex'), der(0x0c, Buffer.from('test')))))
  const validity = der(0x30, der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('490101000000Z')))
  const address = der(0x30, der(0x87, Buffer.from([127, 0, 0, 1])))
  const subjectAltName = der(0x30, Buffer.from('0603551d11', 'hex'), der(0x04, address))
  const toBeSigned = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(0x30, subjectAltName)),
  )
  const signature = der(0x03, Buffer.from([0]), sign('sha256', toBeSigned, privateKey))
  const certificate = der(0x30, toBeSigned, ecdsaWithSha256, signature).toString('base64')
  const cert = `-----BEGIN CERTIFICATE-----\n${certificate.match(/.{1,64}/g)!.join('\n')}\n-----END CERTIFICATE-----\n`
  return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), cert }
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
