import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** The reply to one request, step by step. */
export type Step =
  | { readonly say: string }
  /** So many deltas of this text, as fast as they are taken. */
  | { readonly flood: string; readonly times: number }
  /** Opens a call; `args` are sent in pieces. */
  | { readonly call: string; readonly args: object | string; readonly pieces?: number }
  /** Sends nothing until the test releases it, or the client disconnects. */
  | { readonly hang: Gate }
  | 'break'
  | { readonly wait: Promise<unknown> }

export type Reply =
  | { readonly status: number; readonly message?: string }
  | { readonly hangBefore: Gate }
  | readonly Step[]

/** A gate that shows whether something waits for it. */
export interface Gate {
  readonly reached: Promise<void>
  readonly opened: Promise<void>
  reach(): void
  open(): void
}

export function gate(): Gate {
  const reached = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  return { reached: reached.promise, opened: opened.promise, reach: reached.resolve, open: opened.resolve }
}

export interface MockService {
  readonly url: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies
  readonly requests: any[]
  /** The deltas of floods sent so far. */
  readonly sent: number
  /** Answers in this order; when they are used up, `ok`. */
  play(...replies: readonly (Reply | ((body: { messages: unknown[] }) => Reply))[]): void
  close(): Promise<void>
}

/** A scripted service on this machine with OpenAI's chat API. */
export async function startMockService(): Promise<MockService> {
  const sockets = new Set<Socket>()
  // biome-ignore lint/suspicious/noExplicitAny: see above
  const requests: any[] = []
  const sent = { count: 0 }
  let script: (Reply | ((body: { messages: unknown[] }) => Reply))[] = []

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const chunk of request) text += chunk
    if (request.method === 'GET') {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ data: [{ id: 'mock-1' }, { id: 'mock-2' }] }))
      return
    }
    const body = JSON.parse(text)
    requests.push(body)
    const next = script.shift() ?? [{ say: 'ok' }]
    const reply = typeof next === 'function' ? next(body) : next
    if ('hangBefore' in reply) {
      reply.hangBefore.reach()
      await reply.hangBefore.opened
      response.destroy()
    } else if ('status' in reply) {
      response.writeHead(reply.status, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({
          error: { message: reply.message ?? 'Incorrect API key provided', type: 'invalid_request_error' },
        }),
      )
    } else await stream(response, reply, sent)
  }

  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()))
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    get sent() {
      return sent.count
    },
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    play(...replies) {
      script = [...replies]
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

let calls = 0

async function stream(response: ServerResponse, steps: readonly Step[], sent: { count: number }): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const gone = new Promise<void>((resolve) => response.on('close', resolve))
  let index = -1
  for (const step of steps) {
    if (step === 'break') {
      response.socket?.end() // the sent data arrives, and nothing more
      return
    }
    if ('wait' in step) await step.wait
    else if ('hang' in step) {
      step.hang.reach()
      await Promise.race([step.hang.opened, gone])
    } else if ('say' in step) send(response, { content: step.say })
    else if ('flood' in step) {
      for (let i = 0; i < step.times && !response.destroyed; i++, sent.count++)
        if (!send(response, { content: step.flood }))
          await Promise.race([new Promise((go) => response.once('drain', go)), gone])
    } else {
      const id = `call_${++calls}`
      index++
      send(response, { tool_calls: [{ index, id, type: 'function', function: { name: step.call, arguments: '' } }] })
      const json = typeof step.args === 'string' ? step.args : JSON.stringify(step.args)
      for (const piece of cut(json, step.pieces ?? 3))
        send(response, { tool_calls: [{ index, function: { arguments: piece } }] })
    }
  }
  const usage = { prompt_tokens: 100, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 40 } }
  send(response, {}, index < 0 ? 'stop' : 'tool_calls')
  response.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`)
}

function send(response: ServerResponse, delta: object, finish: string | null = null): boolean {
  return response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`)
}

function cut(text: string, pieces: number): string[] {
  const size = Math.max(1, Math.ceil(text.length / pieces))
  return Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size))
}
