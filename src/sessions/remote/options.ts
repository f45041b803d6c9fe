import { show } from '../../core/behavior.ts'
import { type Clock, systemClock } from '../../core/clock.ts'

export interface RemoteStoreOptions {
  /** The base address of the server's routes, such as `https://sessions.example.com/store`. */
  readonly url: string | URL
  /** Sent as `Authorization: Bearer …`. A function is called before each request, so that it can renew the token. */
  readonly token?: string | (() => string | Promise<string>)
  /** More headers for each request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Default: that of the runtime. */
  readonly fetch?: typeof globalThis.fetch
  readonly clock?: Clock
  /** The time limit of one request with its answer. With retries it may be twice that. Default 30,000. */
  readonly timeoutMs?: number
  /** How often a request is retried after a temporary failure. Default 6, which takes about 15 seconds. */
  readonly retries?: number
  /** The maximum size of one `read` or one blob. Default 256 MB. */
  readonly maxBytes?: number
  /** The polling interval of a watcher if the server does not hold the request. Default 1,000. */
  readonly pollMs?: number
  /** Allows plain http to another machine, where the token can be read on the way. */
  readonly allowInsecure?: boolean
}

/** The checked options with their defaults. */
export interface RemoteSettings extends Required<Omit<RemoteStoreOptions, 'url' | 'token' | 'allowInsecure'>> {
  /** Without a slash at its end. */
  readonly base: string
  /** The part of the address that errors may contain. */
  readonly origin: string
  readonly token?: RemoteStoreOptions['token']
}

/** The maximum size of a JSON response; a server answers in pages. */
export const maxPageBytes = 32 * 1024 * 1024

const secretHeaders = /auth|cookie|key|token|secret|password/i

export function checkRemoteOptions(options: RemoteStoreOptions): RemoteSettings {
  const url = checkUrl(options?.url)
  const { token, headers = {}, fetch, clock = systemClock, allowInsecure = false } = options
  const { timeoutMs = 30_000, retries = 6, maxBytes = 256 * 1024 * 1024, pollMs = 1000 } = options
  if (token !== undefined && typeof token !== 'function' && !isSendable(token))
    throw new TypeError('createRemoteStore: token must be a text without spaces, or a function that gives one')
  checkHeaders(headers)
  for (const [name, value, least] of [
    ['timeoutMs', timeoutMs, 1],
    ['retries', retries, 0],
    ['maxBytes', maxBytes, 1],
    ['pollMs', pollMs, 1],
  ] as const)
    if (!Number.isSafeInteger(value) || value < least)
      throw new TypeError(`createRemoteStore: ${name} must be a whole number from ${least} on, got ${show(value)}`)
  if (fetch !== undefined && typeof fetch !== 'function')
    throw new TypeError(`createRemoteStore: fetch must be a function, got ${show(fetch)}`)

  const hasSecrets = token !== undefined || Object.keys(headers).some((name) => secretHeaders.test(name))
  if (hasSecrets && !allowInsecure && url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new TypeError(
      `createRemoteStore: ${url.origin} is plain http, so the token can be read on the way; ` +
        'use https, or set allowInsecure: true if the connection is safe',
    )
  return {
    base: url.href.replace(/\/+$/, ''),
    origin: url.origin,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    // Looked up with each request, because the caller may replace it later, for instance to observe requests.
    fetch: fetch ?? ((input, init) => globalThis.fetch(input, init)),
    clock,
    timeoutMs,
    retries,
    maxBytes,
    pollMs,
    ...(token !== undefined && { token }),
  }
}

/** Whether a token fits into a header. */
export const isSendable = (token: unknown): token is string => typeof token === 'string' && /^[\x21-\x7e]+$/.test(token)

function checkUrl(value: unknown): URL {
  const url = URL.parse(String(value ?? ''))
  // The address is not quoted: it may contain a password.
  if (!url || !/^https?:$/.test(url.protocol))
    throw new TypeError('createRemoteStore: url must be an http: or https: address')
  if (url.username || url.password)
    throw new TypeError(`createRemoteStore: the url of ${url.host} has a password in it; use token or headers instead`)
  if (url.search || url.hash)
    throw new TypeError(`createRemoteStore: the url of ${url.host} must end with its path, without ? or #`)
  return url
}

function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers))
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || typeof value !== 'string' || !/^[\t\x20-\x7e]*$/.test(value))
      throw new TypeError(`createRemoteStore: the header ${show(name)} cannot be sent; use plain ASCII`)
}

const isLoopback = (host: string): boolean => /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host)
