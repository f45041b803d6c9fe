import { show } from '../../core/behavior.ts'
import { type Clock, systemClock } from '../../core/clock.ts'

export interface RemoteStoreOptions {
  /** Where the server's routes begin, `https://sessions.example.com/store` for instance. */
  readonly url: string | URL
  /** Sent as `Authorization: Bearer …`. A function is asked before each request, so that it may renew what it gives. */
  readonly token?: string | (() => string | Promise<string>)
  /** More headers for each request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Default: that of the runtime. */
  readonly fetch?: typeof globalThis.fetch
  readonly clock?: Clock
  /** How long one request may take, its answer included. With repetitions it may be twice that. Default 30,000. */
  readonly timeoutMs?: number
  /** How often a request is repeated that failed in a way that may pass. Default 6, which bridges about 15 seconds. */
  readonly retries?: number
  /** The most that is taken from the server for one `read`, or for one blob. Default 256 MB. */
  readonly maxBytes?: number
  /** How long to wait before a watcher asks again, at a server that answers at once. Default 1,000. */
  readonly pollMs?: number
  /** Allows plain http to another machine, where everybody on the way can read the token. */
  readonly allowInsecure?: boolean
}

/** Checked, and with what was left out. */
export interface RemoteSettings extends Required<Omit<RemoteStoreOptions, 'url' | 'token' | 'allowInsecure'>> {
  /** Without a slash at its end. */
  readonly base: string
  /** The part of the address that errors may name. */
  readonly origin: string
  readonly token?: RemoteStoreOptions['token']
}

/** A response with JSON is never bigger; a server answers in pages. */
export const mostPageBytes = 32 * 1024 * 1024

const keysTravelIn = /auth|cookie|key|token|secret|password/i

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

  const hasKeys = token !== undefined || Object.keys(headers).some((name) => keysTravelIn.test(name))
  if (hasKeys && !allowInsecure && url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new TypeError(
      `createRemoteStore: ${url.origin} is plain http, so that everybody on the way can read the token; ` +
        'use https, or set allowInsecure: true if the way is safe',
    )
  return {
    base: url.href.replace(/\/+$/, ''),
    origin: url.origin,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    // Looked up late: who replaces it, for instance to observe requests, may do so after us.
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

function checkUrl(given: unknown): URL {
  const url = URL.parse(String(given ?? ''))
  // The address is not quoted: what is wrong with it may be a password.
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
