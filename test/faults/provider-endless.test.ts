import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGzip } from 'node:zlib'
import { describe, expect, onTestFinished } from 'vitest'
import type { ServiceOptions } from '../../src/providers/service.ts'
import { testInTurns } from '../soak.ts'
import { type Family, families } from './fault-streams.ts'
import { claude, meetAt } from './provider-faults-kit.ts'

const test = testInTurns(2)

const limit = 1024 * 1024
const transports = [
  ['node:http', {}],
  ['fetch', { fetch: (...args: Parameters<typeof fetch>) => fetch(...args) }],
] as const satisfies readonly (readonly [string, ServiceOptions])[]

describe.each(transports)('R05 over %s', (_, transport) => {
  test.each(
    families.flatMap((family) => [[family.name, 'plain', family] as const, [family.name, 'gzip', family] as const]),
  )('R05 a reply of %s without end, %s, is given up on at the limit, and not asked for again', async (...row) => {
    const [, encoding, family] = row
    const server = await endlessServer(family, { encoding })
    const { heard, failure } = meetAt(server.url, family, { service: { ...transport, maxReplyBytes: limit } })
    const error = await failure()
    expect(error).toMatchObject({ providerCode: 'reply_too_large', retryable: false })
    expect(error.message).toContain(`more than ${limit.toLocaleString('en')} bytes`)
    expect(error.message).toContain('raise maxReplyBytes')
    expect(heard.shown.length).toBeLessThanOrEqual(limit)
    expect(server.requests).toBe(1)
    await server.hungUp
  })
})

test.each(['application/json', 'text/event-stream'])(
  'R05 an answer in one piece without end (%s) is given up on too',
  async (type) => {
    const server = await endlessServer(claude, { type, sends: ['{"text":"', 'x'.repeat(64 * 1024)] })
    const { failure } = meetAt(server.url, claude, { service: { maxReplyBytes: limit } })
    expect(await failure()).toMatchObject({ providerCode: 'reply_too_large' })
    await server.hungUp
  },
)

test('R05 so is the body of an error without end, by a limit of its own', async () => {
  const server = await endlessServer(claude, { status: 400 })
  const { failure } = meetAt(server.url)
  expect((await failure()).message.length).toBeLessThan(4096)
  await server.hungUp
})

test('R05 without the option 32 MiB are read', async () => {
  const server = await endlessServer(claude, { encoding: 'gzip' })
  const { failure } = meetAt(server.url)
  expect((await failure()).message).toContain(`more than ${(32 * 1024 * 1024).toLocaleString('en')} bytes`)
})

test.each(families)(
  'R09 a service of $name that only keeps the connection open is given up on, over all tries',
  async (family) => {
    const server = await endlessServer(family, { sends: ['', ': still here\n\n'] })
    const limits = { watchdog: { firstContentMs: 500 }, retry: { maxTotalMs: 400, initialDelayMs: 0 } }
    const { failure } = meetAt(server.url, family, { service: { ...limits, maxReplyBytes: 0 } })
    expect((await failure()).message).toContain('no content within 500 ms')
    expect(server.requests).toBe(1)
    await server.hungUp
  },
)

interface Endless {
  readonly encoding?: 'plain' | 'gzip'
  readonly status?: number
  readonly type?: string
  /** First this, then that again and again. Default: pieces of an answer. */
  readonly sends?: readonly [string, string]
}

/** A service that sends pieces of an answer for as long as the connection is open. */
async function endlessServer(
  family: Family,
  { encoding = 'plain', status = 200, type = 'text/event-stream', sends }: Endless = {},
) {
  const frames = family.frames({ text: ['x'.repeat(64 * 1024)] })
  const at = frames.findIndex((frame) => frame.includes('xxxx'))
  const [head, piece] = sends ?? [frames.slice(0, at).join(''), frames[at]!]
  const { promise: hungUp, resolve: hangUp } = Promise.withResolvers<void>()
  let requests = 0

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    requests++
    for await (const _ of incoming);
    const isZipped = encoding === 'gzip'
    response.writeHead(status, { 'content-type': type, ...(isZipped && { 'content-encoding': 'gzip' }) })
    const out = isZipped ? createGzip() : response
    if (out !== response) out.pipe(response)
    let isOpen = true
    response.once('close', () => {
      isOpen = false
      hangUp()
      out.destroy()
    })
    out.on('error', () => {}) // it was closed in the middle of a write
    const send = (text: string): void => {
      if (isOpen) out.write(text, () => setImmediate(send, piece))
    }
    send(head)
  }

  const server = createServer((incoming, response) => void serve(incoming, response).catch(() => {}))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hungUp,
    get requests() {
      return requests
    },
  }
}
