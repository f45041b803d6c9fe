import type { Clock } from '../../core/clock.ts'
import { codeOf, messageOf } from '../../core/errors.ts'
import {
  checkedLookup,
  checkHostRules,
  isPublicAddress,
  matchesHostRule,
  systemResolve,
} from '../../platform/addresses.ts'
import { nodeTransport } from '../../platform/http-node.ts'
import { isPrivateHost, parseWebUrl } from '../../platform/public-web.ts'
import type { WebhookOptions } from './webhook.ts'

export interface WebhookPoster {
  /** The address as it is used. Throws a sentence for one that is not allowed. */
  checkUrl(text: string): string
  /** Sends a request once. Resolves with why the receiver has not accepted it; with nothing if it has. */
  post(request: PostRequest): Promise<string | undefined>
}

interface PostRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
}

/** More of an answer is not received. */
const maxAnswerBytes = 16 * 1024

/** Requests to receivers. No name or address leads them into a private network, and no redirect leads them anywhere. */
export function webhookPoster(options: WebhookOptions, clock: Clock): WebhookPoster {
  const { allowPrivate = [], timeoutMs = 15_000, resolve = systemResolve } = options
  checkHostRules(allowPrivate, 'webhooks.allowPrivate')
  // No proxy of the environment: it would resolve names itself.
  const transportTo = (mayConnect: (address: string) => boolean) =>
    nodeTransport({ env: {}, lookup: checkedLookup({ resolve, mayConnect, refused }) })
  const guarded = transportTo(isPublicAddress)
  const unguarded = transportTo(() => true)
  const mayBePrivate = ({ hostname, port, protocol }: URL): boolean =>
    matchesHostRule(hostname, Number(port) || (protocol === 'https:' ? 443 : 80), allowPrivate)

  function checkUrl(text: string): string {
    const url = parseWebUrl(text)
    if (mayBePrivate(url)) return url.href
    if (isPrivateHost(url.hostname)) throw refused(url.hostname)
    if (url.protocol !== 'https:')
      throw new Error(`${url.host} would be told over plain http, which can be read on the way; give an https address`)
    return url.href
  }

  async function post({ url, headers, body, signal }: PostRequest): Promise<string | undefined> {
    const late = new AbortController()
    const cancelTimer = clock.timer(timeoutMs, () => late.abort())
    try {
      const href = checkUrl(url) // the host may have changed its mind about private ones
      const response = await (mayBePrivate(new URL(href)) ? unguarded : guarded)({
        url: href,
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: [new TextEncoder().encode(body)],
        signal: AbortSignal.any([signal, late.signal]),
      })
      await skip(response.body)
      const { status } = response
      return status >= 200 && status < 300 ? undefined : `it answered ${status}`
    } catch (error) {
      if (late.signal.aborted) return `it did not answer within ${timeoutMs} ms`
      return messageOf(codeOf(error) === 'EPRIVATE' && error instanceof Error ? (error.cause ?? error) : error)
    } finally {
      cancelTimer()
    }
  }

  return { checkUrl, post }
}

/** A connection whose answer was read can be used again. What the answer says does not matter, nor whether it ends. */
async function skip(body: AsyncIterable<Uint8Array>): Promise<void> {
  let size = 0
  try {
    for await (const part of body) if ((size += part.length) > maxAnswerBytes) return
  } catch {
    // The status came.
  }
}

function refused(host: string): Error {
  const text = `${host} is not on the public internet, and webhooks go nowhere else unless the server's webhooks.allowPrivate lists it`
  return Object.assign(new Error(text), { code: 'EPRIVATE' })
}
