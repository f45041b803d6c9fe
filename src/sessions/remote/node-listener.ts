/** Converts a web handler to a listener for `http.createServer`. The signal of the request aborts when the client disconnects. */
export function toNodeListener(handler: (request: Request) => Promise<Response>): (
  /** The part of `http.IncomingMessage` that is needed. */
  incoming: AsyncIterable<Uint8Array> & {
    readonly method?: string | undefined
    readonly url?: string | undefined
    readonly headers: Readonly<Record<string, string | string[] | undefined>>
  },
  /** The part of `http.ServerResponse` that is needed. */
  outgoing: {
    writeHead(status: number, headers: Record<string, string>): unknown
    end(body?: Uint8Array): unknown
    on(event: 'close', listener: () => void): unknown
  },
) => Promise<void> {
  return async (incoming, outgoing) => {
    const gone = new AbortController()
    outgoing.on('close', () => gone.abort())
    try {
      const response = await handler(requestOf(incoming, gone.signal))
      const body = new Uint8Array(await response.arrayBuffer())
      outgoing.writeHead(response.status, Object.fromEntries(response.headers))
      outgoing.end(body)
    } catch {
      // An invalid request, such as one for `*` or to a proxy; the store handler never throws.
      outgoing.writeHead(400, { 'content-type': 'text/plain' })
      outgoing.end()
    }
  }
}

type NodeRequest = Parameters<ReturnType<typeof toNodeListener>>[0]

function requestOf(incoming: NodeRequest, signal: AbortSignal): Request {
  const { method = 'GET', url = '/' } = incoming
  if (!url.startsWith('/')) throw new TypeError(`Only paths are served, got ${JSON.stringify(url.slice(0, 200))}`)
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers))
    if (value !== undefined) headers.set(name, String(value))
  const init = { method, headers, signal, body: /^(GET|HEAD)$/.test(method) ? null : bodyOf(incoming) }
  // The host only completes the address; the client could name any.
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
    // Closing the connection here would lose the answer that explains the refusal.
    cancel: () => void drain(iterator),
  })
}

/** A client that sent this much without reading the answer will not read it. */
const maxDrainedBytes = 64 * 1024 * 1024

async function drain(iterator: AsyncIterator<Uint8Array>): Promise<void> {
  try {
    for (let bytesLeft = maxDrainedBytes; bytesLeft > 0; ) {
      const { done, value } = await iterator.next()
      if (done) return
      bytesLeft -= value.byteLength
    }
    await iterator.return?.() // closes the connection
  } catch {} // the client has disconnected
}
