import type { HttpResponse, Transport } from './http.ts'

/** Any WHATWG `fetch` as a transport: in a browser, in Bun or Deno, or one that you inject. */
export function fetchTransport(fetch: typeof globalThis.fetch): Transport {
  return async ({ url, method, headers, body, signal }) => {
    const host = hostOf(url)
    let response: Response
    try {
      response = await fetch(url, {
        method,
        headers,
        // Followed by the runtime, a redirect would take the keys along.
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

/** One array: a stream as a body needs half-duplex, which runtimes do differently or not at all. */
function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.byteLength, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.byteLength
  }
  return whole
}

/** Of the runtime's own error only the code is kept: some quote the URL with its query, or a header with its key. */
function unanswered(host: string, error: unknown): Error {
  const known = codeOf(error) ?? codeOf((error as Error | undefined)?.cause)
  const reason = known ?? 'the request was not sent or not answered'
  const code = known ?? (isNetwork(error) ? 'ECONNRESET' : undefined)
  return Object.assign(
    new Error(`No answer from ${host}: ${reason}; check the address, the headers and the network`),
    code !== undefined && { code },
  )
}

/** Browsers and Deno give no code, only words. */
const isNetwork = (error: unknown): boolean =>
  /failed to fetch|networkerror|load failed|network request failed|error sending request/i.test(String(error))

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

function bodyOf(response: Response, host: string, signal: AbortSignal | undefined): HttpResponse['body'] {
  const reader = response.body?.getReader()
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      try {
        const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
        return done ? { done, value: undefined } : { done, value }
      } catch {
        throw signal?.aborted ? signal.reason : cut(host)
      }
    },
    async return() {
      // What is already broken need not be closed.
      await reader?.cancel().catch(() => {})
      return { done: true, value: undefined }
    },
  }
  return { [Symbol.asyncIterator]: () => iterator }
}

function cut(host: string): Error {
  const text = `${host} closed the connection before its answer was complete; send the request again`
  return Object.assign(new Error(text), { code: 'ECONNRESET' })
}
