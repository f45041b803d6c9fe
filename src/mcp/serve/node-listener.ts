import type { IncomingMessage, ServerResponse } from 'node:http'
import { problem } from './http-guard.ts'

/** Answers a request of Node's server with what a fetch-like function says. */
export async function answerNode(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  fetch: (request: Request) => Promise<Response>,
): Promise<void> {
  const gone = new AbortController()
  outgoing.once('close', () => gone.abort())
  outgoing.once('error', () => gone.abort())
  let response: Response
  try {
    response = await fetch(requestOf(incoming, gone.signal))
  } catch {
    response = problem(gone.signal.aborted ? 499 : 500, 'the request could not be answered; look into the server’s log')
  }
  outgoing.writeHead(response.status, { ...Object.fromEntries(response.headers), ...fixedHeaders })
  await send(response, outgoing, gone.signal).catch(() => {})
  outgoing.end()
  if (!incoming.complete) incoming.destroy()
}

const fixedHeaders = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method: said = 'GET', headers } = incoming
  // A Request cannot have these, and what is no Request could not be turned away for want of the token.
  const method = /^(CONNECT|TRACE|TRACK)$/i.test(said) ? `NO-${said}` : said
  const sent = new Headers()
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) sent.set(name, Array.isArray(value) ? value.join(', ') : value)
  const hasBody = method !== 'GET' && method !== 'HEAD'
  // The address is of no use here, and may be none: who is called stands in Host, which is looked at.
  return new Request('http://localhost/', {
    method,
    headers: sent,
    signal,
    ...(hasBody && { body: incoming, duplex: 'half' }),
  })
}

/** As fast as the client reads, and until it is gone. */
async function send({ body }: Response, outgoing: ServerResponse, signal: AbortSignal): Promise<void> {
  if (!body) return
  const reader = body.getReader()
  const cancel = (): void => void reader.cancel().catch(() => {})
  signal.addEventListener('abort', cancel, { once: true })
  for (;;) {
    const { done, value } = await reader.read()
    if (done || signal.aborted) return
    if (outgoing.write(value)) continue
    await new Promise<void>((go) => {
      outgoing.once('drain', go)
      outgoing.once('close', go)
    })
  }
}
