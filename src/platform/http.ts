import { fetchTransport } from './http-fetch.ts'

/** One HTTP exchange whose answer is streamed: all that a provider needs of a network. */
export type Transport = (request: HttpRequest) => Promise<HttpResponse>

export interface HttpRequest {
  readonly url: string
  readonly method: 'GET' | 'POST'
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Sent one after the other; a body that grows by appending is never joined. */
  readonly body?: readonly Uint8Array[]
  readonly signal?: AbortSignal
  /** It may have an effect: when a kept connection ends without an answer, it is not sent again on another. */
  readonly isOnce?: boolean
}

export interface HttpResponse {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** May be read once. Leaving it early closes the connection; neither read nor left, it holds it. */
  readonly body: AsyncIterable<Uint8Array>
}

/** What this runtime does best: `node:http` on Node, its `fetch` anywhere else. */
export function defaultTransport(): Transport {
  if (!isNode()) return fetchTransport(globalThis.fetch)
  let transport: Promise<Transport> | undefined
  return async (request) => {
    transport ??= import('./http-node.ts').then(({ nodeTransport }) => nodeTransport())
    return (await transport)(request)
  }
}

/** Bun and Deno also say that they are Node. */
function isNode(): boolean {
  const versions = globalThis.process?.versions
  return versions?.node !== undefined && versions.bun === undefined && !('Deno' in globalThis)
}

export interface RedirectOptions {
  /** More headers that no other origin may see. */
  readonly credentialHeaders?: readonly string[]
}

const mostRedirects = 5
/** The statuses that lead elsewhere. */
export const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const keysTravelIn = ['authorization', 'proxy-authorization', 'cookie', 'x-api-key', 'x-goog-api-key', 'api-key']

/** Follows redirects that keep the request as it is, without taking its keys to another origin. */
export function followRedirects(transport: Transport, { credentialHeaders = [] }: RedirectOptions = {}): Transport {
  const secret = new Set([...keysTravelIn, ...credentialHeaders.map((name) => name.toLowerCase())])

  return async (request) => {
    let current = request
    for (let followed = 0; ; followed++) {
      const response = await transport(current)
      if (!redirects.has(response.status)) return response
      await response.body[Symbol.asyncIterator]().return?.()
      const from = new URL(current.url).origin
      if (followed === mostRedirects)
        throw new Error(`${from} redirects after ${mostRedirects} redirects already; check the base URL`)
      current = redirected(current, response, secret)
    }
  }
}

function redirected(request: HttpRequest, { status, headers }: HttpResponse, secret: Set<string>): HttpRequest {
  const from = new URL(request.url)
  const to = URL.parse(headers.location ?? '', from.href)
  if (!headers.location || !to)
    throw new Error(`${from.origin} answered ${status} without a valid location; check the base URL`)

  const refused = `${from.origin} answered ${status} to ${request.method}, which leads to ${originOf(to)}`
  if (to.protocol !== 'https:' && to.protocol !== from.protocol)
    throw new Error(`${refused}: not followed from ${from.protocol} to ${to.protocol}; use its address as the base URL`)
  if (request.method !== 'GET' && status < 307)
    throw new Error(`${refused}: not followed, as it would drop the body; use its address as the base URL`)

  if (to.origin === from.origin) return { ...request, url: to.href }
  const kept = Object.entries(request.headers).filter(([name]) => !secret.has(name.toLowerCase()))
  return { ...request, url: to.href, headers: Object.fromEntries(kept) }
}

/** Of an address that is no web address, nothing but its scheme. */
function originOf({ origin, protocol }: URL): string {
  return origin === 'null' ? protocol : origin
}
