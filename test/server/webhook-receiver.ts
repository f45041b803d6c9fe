import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../src/core/clock.ts'
import { scripted } from '../../src/testing/index.ts'
import { startServer, type TestServer } from './server-kit.ts'

export interface Received {
  readonly id: string
  readonly headers: Record<string, string>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every form
  readonly body: any
}

export interface Receiver {
  readonly url: string
  /** What came, in its order, accepted or not. */
  readonly received: Received[]
  /** What each request is answered with. Default: 200. */
  answer: (request: Received, response: ServerResponse) => void
  /** Stops listening; `listen` begins again at the same address. */
  stop(): Promise<void>
  listen(): Promise<void>
  /** The messages that the official verifier accepts, in their order. */
  verified(secret: string): unknown[]
}

/** A receiver of webhooks on this machine. */
export async function openReceiver(): Promise<Receiver> {
  let port = 0
  const received: Received[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (part) => (text += part))
    request.on('end', () => {
      const headers = request.headers as Record<string, string>
      const one = { id: headers['webhook-id']!, headers, text, body: JSON.parse(text) }
      received.push(one)
      receiver.answer(one, response)
    })
  })
  const receiver: Receiver = {
    get url() {
      return `http://127.0.0.1:${port}/hook`
    },
    received,
    answer: (_, response) => response.end('thanks'),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
    listen: () =>
      new Promise((resolve) => {
        server.listen(port, '127.0.0.1', () => {
          port = (server.address() as AddressInfo).port
          resolve()
        })
      }),
    verified: (secret) => received.map(({ text, headers }) => new Webhook(secret).verify(text, headers)),
  }
  await receiver.listen()
  onTestFinished(() => receiver.stop())
  return receiver
}

/** Real time, with timers that fire early: waiting is shorter, and its order stays. */
export const hurried = (factor = 100): Clock => ({
  now: Date.now,
  timer: (ms, fn) => systemClock.timer(ms / factor, fn),
})

/** The time limit is hurried too: even by the most hurried clock of a test no answer on a busy machine is late. */
export const webhooks = { allowPrivate: ['127.0.0.1'], timeoutMs: 100_000_000 }

/** A server with hurried timers whose agents say one word. */
export const startWithWebhooks = (options: Parameters<typeof startServer>[0] = {}): Promise<TestServer> =>
  startServer({ provider: () => scripted('Done.', 'Done.', 'Done.'), clock: hurried(), webhooks, ...options })
