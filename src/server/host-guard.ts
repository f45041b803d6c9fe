import { Problem } from './problem.ts'

export interface HostGuardOptions {
  /** Allowed values of the `Host` header, with or without a port. Default: the loopback names of this machine. */
  readonly allowedHosts?: readonly string[]
  /** Origins of pages on other sites that may call this server. Default: none. */
  readonly allowedOrigins?: readonly string[]
}

const loopback = ['localhost', '127.0.0.1', '[::1]']

/** Throws for lists that would not keep other sites out. */
export function checkHostGuard({ allowedHosts = [], allowedOrigins = [] }: HostGuardOptions): void {
  const wild = [...allowedHosts, ...allowedOrigins].find(
    (one) => typeof one !== 'string' || one === '' || one.includes('*'),
  )
  if (wild !== undefined)
    throw new TypeError(
      `allowedHosts and allowedOrigins are exact names without wildcards, got ${JSON.stringify(wild)}`,
    )
}

/**
 * Refuses requests to another host name and of other sites. This comes before anything else: a page whose name was
 * rebound to this address learns nothing. Returns the allowed origin of another site, for the answer.
 */
export function guardHost(
  request: Request,
  { allowedHosts = loopback, allowedOrigins = [] }: HostGuardOptions,
): string | undefined {
  const host = (request.headers.get('host') ?? new URL(request.url).host).toLowerCase()
  const name = host.replace(/:\d+$/, '')
  if (!allowedHosts.some((one) => one.toLowerCase() === name || one.toLowerCase() === host))
    throw new Problem(403, 'wrong_host', 'This server is not called by that Host; add the name to its allowed hosts')
  const origin = request.headers.get('origin')
  if (origin === null || origin === `http://${host}` || origin === `https://${host}`) return undefined
  if (!allowedOrigins.includes(origin))
    throw new Problem(403, 'wrong_origin', 'Requests of pages on another origin are not answered')
  return origin
}

/** The headers that let a page of an allowed origin read the answer. */
export const corsHeaders = (origin: string): Readonly<Record<string, string>> => ({
  'access-control-allow-origin': origin,
  vary: 'origin',
  'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers':
    'authorization, content-type, idempotency-key, last-event-id, prefer, x-libero, x-session-id',
  'access-control-expose-headers': 'etag, retry-after, x-session-id, x-vercel-ai-ui-message-stream',
  'access-control-max-age': '600',
})
