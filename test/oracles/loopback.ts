import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** One request as a service got it. */
export interface Asked {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: bodies are looked into at will
  readonly body: any
}

export type Answer =
  | string
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }

/** The answers; the last one is repeated. A function gets the request. */
export type Answers = readonly (Answer | ((asked: Asked) => Answer | Promise<Answer>))[]

export interface FakeService {
  readonly asked: readonly Asked[]
  /** Answers without opening a socket, whatever the address. */
  readonly fetch: typeof globalThis.fetch
}

/** A service behind a `fetch`, for any address. */
export function fakeService(...answers: Answers): FakeService {
  const asked: Asked[] = []
  return {
    asked,
    async fetch(url, { headers, body } = {}) {
      const text = typeof body === 'string' ? body : body ? new TextDecoder().decode(body as Uint8Array) : ''
      const one = note(String(url), Object.fromEntries(new Headers(headers)), text)
      asked.push(one)
      const { status, headers: given, body: said } = await answerOf(answers, asked.length - 1, one)
      return new Response(said, { status, headers: given })
    },
  }
}

export interface LoopbackService extends Pick<FakeService, 'asked'> {
  readonly url: string
}

/** The same on a port of this machine, closed when the test is over. */
export async function loopbackService(...answers: Answers): Promise<LoopbackService> {
  const asked: Asked[] = []
  const server = createServer(async (incoming, response) => {
    const one = note(incoming.url ?? '', incoming.headers as Record<string, string>, await textOf(incoming))
    asked.push(one)
    const { status, headers, body } = await answerOf(answers, asked.length - 1, one)
    response.writeHead(status, headers).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const note = (url: string, headers: Record<string, string>, text: string): Asked => ({
  url,
  headers,
  text,
  body: text.startsWith('{') ? JSON.parse(text) : undefined,
})

async function answerOf(answers: Answers, at: number, asked: Asked) {
  const next = answers[Math.min(at, answers.length - 1)] ?? ''
  const answer = typeof next === 'function' ? await next(asked) : next
  const { status, headers, body } =
    typeof answer === 'string' ? { status: 200, headers: undefined, body: answer } : answer
  const type = status === 200 ? 'text/event-stream' : 'application/json'
  return { status, headers: { 'content-type': type, ...headers }, body: body ?? '' }
}

/** The part of `fetch` that SDKs need, for this machine only: the global one is disabled in tests. */
export const loopbackFetch: typeof globalThis.fetch = async (input, init) => {
  const asked = new Request(input as string, init as RequestInit)
  const body = await asked.text()
  return new Promise((resolve, reject) => {
    const { method, signal } = asked
    const headers = Object.fromEntries(asked.headers)
    const outgoing = request(asked.url, { method, headers, signal, agent: false }, (incoming) => {
      const answered = { status: incoming.statusCode ?? 0, headers: incoming.headers as Record<string, string> }
      const isEmpty = [204, 205, 304].includes(answered.status) // such a response has no body
      if (isEmpty) incoming.resume()
      resolve(new Response(isEmpty ? null : (Readable.toWeb(incoming) as ReadableStream), answered))
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
