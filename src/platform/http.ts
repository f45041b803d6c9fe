import { codeOf } from '../core/errors.ts'

/** Sends one HTTP request and streams its response. */
export type Transport = (request: HttpRequest) => Promise<HttpResponse>

export interface HttpRequest {
  readonly url: string
  readonly method: 'GET' | 'POST'
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Sent one after the other, without joining them. */
  readonly body?: readonly Uint8Array[]
  readonly signal?: AbortSignal
  /** The request may have an effect, so it is not sent again if a kept connection closes without an answer. */
  readonly isOnce?: boolean
}

export interface HttpResponse {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Can be read once. Ending the iteration early closes the connection; an unread body keeps it open. */
  readonly body: AsyncIterable<Uint8Array>
}

/** `node:http` on Node, `fetch` in every other runtime. */
export function defaultTransport(): Transport {
  if (!isNode()) return fetchTransport(globalThis.fetch)
  let transport: Promise<Transport> | undefined
  return async (request) => {
    transport ??= import('./http-node.ts').then(({ nodeTransport }) => nodeTransport())
    return (await transport)(request)
  }
}

/** Bun and Deno also report a Node version. */
function isNode(): boolean {
  const versions = globalThis.process?.versions
  return versions?.node !== undefined && versions.bun === undefined && !('Deno' in globalThis)
}

const maxRedirects = 5
/** The statuses of redirects. */
export const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/**
 * Follows redirects that keep method and body, within an origin. Another origin gets neither the body nor the
 * credentials: the person chose the address that a prompt is sent to.
 */
export function followRedirects(transport: Transport): Transport {
  return async (request) => {
    let current = request
    for (let followed = 0; ; followed++) {
      const response = await transport(current)
      if (!redirects.has(response.status)) return response
      await response.body[Symbol.asyncIterator]().return?.()
      const from = new URL(current.url).origin
      if (followed === maxRedirects)
        throw new Error(`${from} redirects after ${maxRedirects} redirects already; check the base URL`)
      current = redirected(current, response)
    }
  }
}

function redirected(request: HttpRequest, { status, headers }: HttpResponse): HttpRequest {
  const from = new URL(request.url)
  const to = URL.parse(headers.location ?? '', from.href)
  if (!headers.location || !to)
    throw new Error(`${from.origin} answered ${status} without a valid location; check the base URL`)

  const refused = `${from.origin} answered ${status} to ${request.method}, which leads to ${originOf(to)}`
  if (to.origin !== from.origin)
    throw new Error(
      `${refused}: not followed to another origin, so nothing was sent there; if that is the service you mean, set the base URL (baseURL) to its address`,
    )
  if (request.method !== 'GET' && status < 307)
    throw new Error(`${refused}: not followed, as it would drop the body; use its address as the base URL`)
  return { ...request, url: to.href }
}

/** The origin, or only the scheme of an address that is no web address. */
function originOf({ origin, protocol }: URL): string {
  return origin === 'null' ? protocol : origin
}

/** A transport on a WHATWG `fetch`: of a browser, Bun or Deno, or a custom one. */
export function fetchTransport(fetch: typeof globalThis.fetch): Transport {
  return async ({ url, method, headers, body, signal }) => {
    const host = hostOf(url)
    let response: Response
    try {
      response = await fetch(url, {
        method,
        headers,
        // If the runtime followed a redirect, it would send the credentials along.
        redirect: 'manual',
        ...(body?.length && { body: joined(body) }),
        ...(signal && { signal }),
      })
    } catch (error) {
      throw signal?.aborted ? signal.reason : unanswered(host, error)
    }
    if (response.type === 'opaqueredirect')
      throw new Error(`${host} answered with a redirect, which this runtime does not show; use the address it leads to`)
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: bodyOf(response, host, signal),
    }
  }
}

function hostOf(url: string): string {
  if (URL.canParse(url)) return new URL(url).host
  throw new Error('The address of a request is not a URL; check the base URL')
}

/** One array, because a stream as a body needs half-duplex, which not all runtimes support. */
function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.byteLength, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.byteLength
  }
  return whole
}

/** Only the code of the runtime's error is kept: some errors quote the URL with its query, or a header with its key. */
function unanswered(host: string, error: unknown): Error {
  const known = codeOf(error) ?? codeOf((error as Error | undefined)?.cause)
  const reason = known ?? 'the request was not sent or not answered'
  const code = known ?? (isNetwork(error) ? 'ECONNRESET' : undefined)
  return Object.assign(
    new Error(`No answer from ${host}: ${reason}; check the address, the headers and the network`),
    code !== undefined && { code },
  )
}

/** Browsers and Deno have no code, only a message. */
const isNetwork = (error: unknown): boolean =>
  /failed to fetch|networkerror|load failed|network request failed|error sending request/i.test(String(error))

function bodyOf(response: Response, host: string, signal: AbortSignal | undefined): HttpResponse['body'] {
  const reader = response.body?.getReader()
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      try {
        const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
        return done ? { done, value: undefined } : { done, value }
      } catch {
        throw signal?.aborted ? signal.reason : brokenOff(host)
      }
    },
    async return() {
      // A broken stream need not be closed.
      await reader?.cancel().catch(() => {})
      return { done: true, value: undefined }
    },
  }
  return { [Symbol.asyncIterator]: () => iterator }
}

function brokenOff(host: string): Error {
  const text = `${host} closed the connection before its answer was complete; send the request again`
  return Object.assign(new Error(text), { code: 'ECONNRESET' })
}
