import type { HttpRequest, Transport } from '../../platform/http.ts'

/** A transport as a `fetch` that follows no redirects. */
export function transportFetch(transport: Transport): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const { signal } = init
    const body = bodyOf(init.body)
    const headers = new Headers(init.headers)
    if (init.body instanceof URLSearchParams && !headers.has('content-type'))
      headers.set('content-type', 'application/x-www-form-urlencoded;charset=UTF-8')
    const request: HttpRequest = {
      url: String(input instanceof Request ? input.url : input),
      // The transport takes any method; its type lists those of providers.
      method: (init.method ?? 'GET') as HttpRequest['method'],
      headers: Object.fromEntries(headers),
      ...(body && { body: [body], isOnce: true }), // it may call a tool, so it is never repeated
      ...(signal && { signal }),
    }
    const answer = await transport(request)
    if (answer.status < 200 || answer.status > 599) {
      await answer.body[Symbol.asyncIterator]().return?.()
      throw new McpHttpError(
        'status',
        `the server answered with the status ${answer.status}, which means nothing; check its address`,
      )
    }
    const hasBody = mayHaveBody(answer.status)
    const stream = hasBody ? streamOf(answer.body) : null
    if (!hasBody) await answer.body[Symbol.asyncIterator]().return?.()
    return new Response(stream, { status: answer.status, headers: answer.headers })
  }
}

/** `Response` throws on a body with the other statuses. */
export const mayHaveBody = (status: number): boolean => status !== 204 && status !== 205 && status !== 304

function bodyOf(body: unknown): Uint8Array | undefined {
  if (body === undefined || body === null) return undefined
  if (typeof body === 'string' || body instanceof URLSearchParams) return new TextEncoder().encode(String(body))
  if (body instanceof Uint8Array) return body
  throw new McpHttpError('body', 'Only texts and bytes are sent to MCP servers; make the body one of them')
}

function streamOf(body: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = body[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await iterator.return?.()
      },
    },
    // Reads nothing in advance.
    { highWaterMark: 0 },
  )
}

/**
 * A request that was not sent, or a response that was refused. A `TypeError`, like those of `fetch`: after any other error
 * the SDK continues as if the server had no metadata.
 */
export class McpHttpError extends TypeError {
  /** Such as `redirected`, `private`, `too_big`, `timeout`, or a system code such as `ECONNREFUSED`. */
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.name = 'McpHttpError'
    this.code = code
  }
}
