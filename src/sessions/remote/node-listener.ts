/** As much of `http.IncomingMessage` as is needed. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** As much of `http.ServerResponse` as is needed. */
export interface NodeResponse {
  writeHead(status: number, headers: Record<string, string>): unknown
  end(body?: Uint8Array): unknown
  on(event: 'close', listener: () => void): unknown
}

/** Any web handler as what `http.createServer` takes. When the client hangs up, the signal of the request is aborted. */
export function toNodeListener(
  handler: (request: Request) => Promise<Response>,
): (incoming: NodeRequest, outgoing: NodeResponse) => Promise<void> {
  return async (incoming, outgoing) => {
    const gone = new AbortController()
    outgoing.on('close', () => gone.abort())
    try {
      const response = await handler(requestOf(incoming, gone.signal))
      const body = new Uint8Array(await response.arrayBuffer())
      outgoing.writeHead(response.status, Object.fromEntries(response.headers))
      outgoing.end(body)
    } catch {
      // A request that is none, such as one for `*` or to a proxy; a handler of ours never throws.
      outgoing.writeHead(400, { 'content-type': 'text/plain' })
      outgoing.end()
    }
  }
}

function requestOf(incoming: NodeRequest, signal: AbortSignal): Request {
  const { method = 'GET', url = '/' } = incoming
  if (!url.startsWith('/')) throw new TypeError('Only paths are served')
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers))
    if (value !== undefined) headers.set(name, String(value))
  const init = { method, headers, signal, body: /^(GET|HEAD)$/.test(method) ? null : bodyOf(incoming) }
  // The host only completes the address: it is whatever the client says.
  return new Request(new URL(`http://localhost${url}`), { ...init, duplex: 'half' } as RequestInit)
}

function bodyOf(incoming: NodeRequest): ReadableStream<Uint8Array> {
  const iterator = incoming[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await iterator.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    // To close the connection here would take the answer along that says why the rest is not wanted.
    cancel: () => void drain(iterator),
  })
}

/** Who has sent so much without reading our answer never will. */
const mostDrained = 64 * 1024 * 1024

async function drain(iterator: AsyncIterator<Uint8Array>): Promise<void> {
  try {
    for (let left = mostDrained; left > 0; ) {
      const { done, value } = await iterator.next()
      if (done) return
      left -= value.byteLength
    }
    await iterator.return?.() // closes the connection
  } catch {} // the client is gone, and with it the rest
}
