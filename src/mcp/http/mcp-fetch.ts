import { BlockList, isIP } from 'node:net'
import { codeOf, messageOf } from '../../core/errors.ts'
import {
  checkedLookup,
  checkHostRules,
  isPublicAddress,
  matchesHostRule,
  type Resolve,
  systemResolve,
} from '../../platform/addresses.ts'
import { normalizedHost } from '../../platform/host-name.ts'
import { defaultTransport, redirects, type Transport } from '../../platform/http.ts'
import { nodeTransport } from '../../platform/http-node.ts'
import { isPrivateHost, parseWebUrl } from '../../platform/public-web.ts'
import { visibleName } from '../../platform/visible-text.ts'
import type { McpServerConfig } from '../config.ts'
import { McpHttpError, transportFetch } from './transport-fetch.ts'

export interface McpFetchOptions extends OtherOriginsOptions {
  /** Default: Node's HTTP. A given function resolves host names itself, so only literal addresses are checked. */
  readonly fetch?: typeof globalThis.fetch
  /** The time limit of a request without its own signal. Default 30,000. */
  readonly timeoutMs?: number
  /** Aborts all requests. */
  readonly signal?: AbortSignal
  /** The largest response, or event of a stream. Default 16 MB. */
  readonly mostBytes?: number
}

/**
 * The fetch for a server and for the login addresses that it names. Configured headers and tokens go to the server's own
 * origin only; redirects to another origin are refused.
 */
export function createMcpFetch(config: McpServerConfig, options: McpFetchOptions = {}): typeof globalThis.fetch {
  const home = new URL(config.url ?? '')
  const others = otherOrigins(home, options)
  const fetchHome = options.fetch ?? transportFetch(defaultTransport())
  const fetchOthers = options.fetch ?? transportFetch(others.transport)

  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const isHome = url.origin === home.origin
    if (!isHome) others.check(url)
    const headers = sendable(url, () => (isHome ? homeHeaders(init, config) : foreignHeaders(init)))
    const late = init.signal ? undefined : AbortSignal.timeout(options.timeoutMs ?? 30_000)
    const ends = [init.signal, options.signal].filter((one) => one != null)
    const signals = late ? [...ends, late] : ends
    const signal = signals.length === 1 ? signals[0]! : AbortSignal.any(signals)
    const request = { ...init, headers, redirect: 'manual' as const, signal }
    const answer = await (isHome ? fetchHome : fetchOthers)(url, request).catch((error) => fail(error, url, ends, late))
    const response = withCappedBody(checkRedirect(answer, url), url.host, options.mostBytes)
    recordUsedToken(response, headers.get('authorization'))
    return response
  }
}

/** The original error quotes the header, which is secret. */
function sendable(url: URL, make: () => Headers): Headers {
  try {
    return make()
  } catch {
    throw new McpHttpError(
      'header',
      `${url.host} was not asked: a header or a token for it has letters that cannot be sent, such as a line break; correct the headers of the server, or log in again`,
    )
  }
}

function homeHeaders({ headers }: RequestInit, config: McpServerConfig): Headers {
  const all = new Headers(config.headers)
  for (const [name, value] of new Headers(headers)) all.set(name, value)
  return all
}

/** Removes the server's credentials. The client's own secret (`Basic`) may go to a token endpoint. */
function foreignHeaders({ headers }: RequestInit): Headers {
  const all = new Headers(headers)
  if (/^(bearer|dpop)\b/i.test(all.get('authorization') ?? '')) all.delete('authorization')
  for (const name of ['cookie', 'mcp-session-id']) all.delete(name)
  return all
}

function fail(error: unknown, url: URL, ends: readonly AbortSignal[], late: AbortSignal | undefined): never {
  for (const end of ends) if (end.aborted) throw end.reason
  if (late?.aborted) throw new McpHttpError('timeout', `${url.host} did not answer in time; try again later`)
  const cause = error instanceof Error && error.cause instanceof McpHttpError ? error.cause : error
  if (cause instanceof McpHttpError) throw cause
  throw new McpHttpError(codeOf(error) ?? 'network', messageOf(error))
}

/** The caller follows redirects within the origin. */
function checkRedirect(response: Response, url: URL): Response {
  const location = redirects.has(response.status) ? response.headers.get('location') : null
  const isHidden = response.type === 'opaqueredirect'
  const target = location === null ? undefined : URL.parse(location, url.href)
  if (!isHidden && (location === null || target?.origin === url.origin)) return response
  void response.body?.cancel().catch(() => {})
  const where = target && target.origin !== 'null' ? visibleName(target.origin).slice(0, 200) : 'another place'
  throw new McpHttpError(
    'redirected',
    `${url.host} redirects to ${where}, which is not followed; if that is the server that is meant, use its address`,
  )
}

/** The token that each response answers: concurrent requests may still carry the old one. */
const tokens = new WeakMap<Response, string>()

const bearer = /^Bearer (.+)$/i

function recordUsedToken(response: Response, authorization: string | null): void {
  const token = bearer.exec(authorization ?? '')?.[1]
  if (token !== undefined) tokens.set(response, token)
}

export function usedToken(response: Response): string | undefined {
  return tokens.get(response)
}

/** The response with a size limit: on the whole body, or on each event of a stream. */
function withCappedBody(response: Response, host: string, mostBytes = mostBodyBytes): Response {
  if (!response.body) return response
  const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
  const count = isStream ? eventBytes() : bodyBytes()
  const what = isStream ? 'an event' : 'an answer'
  const capped = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        if (count(chunk) > mostBytes)
          throw new McpHttpError('too_big', `${host} sent ${what} of more than ${mostBytes} bytes, which is not read`)
        controller.enqueue(chunk)
      },
    }),
  )
  const { status, statusText, headers } = response
  return new Response(capped, { status, statusText, headers })
}

const mostBodyBytes = 16 * 1024 * 1024

function bodyBytes(): (chunk: Uint8Array) => number {
  let bytes = 0
  return (chunk) => (bytes += chunk.length)
}

/** The size of the longest event in a chunk, with its part in earlier chunks. An empty line ends an event. */
function eventBytes(): (chunk: Uint8Array) => number {
  let bytes = 0
  let isEmptyLine = true
  let last = 0
  return (chunk) => {
    let most = 0
    for (const byte of chunk) {
      bytes++
      const isBreak = byte === lf || byte === cr
      const isSecondHalf = byte === lf && last === cr
      if (isBreak && !isSecondHalf && isEmptyLine) {
        most = Math.max(most, bytes)
        bytes = 0
      }
      if (!isSecondHalf) isEmptyLine = isBreak
      last = byte
    }
    return Math.max(most, bytes)
  }
}

const lf = 10
const cr = 13

interface OtherOriginsOptions {
  /** Hosts that may be private although the server is public, such as `auth.corp.example`. */
  readonly allowPrivate?: readonly string[]
  /** Resolves a host name to all its addresses. Default: as this machine does. */
  readonly resolve?: Resolve
}

/** Requests to origins that the server chose, for logins. */
interface OtherOrigins {
  /** Throws if an address is not allowed. */
  check(url: URL): void
  /** Connects to checked addresses only. */
  readonly transport: Transport
}

/** A server may name public addresses; private ones only if it is at a private address itself. */
function otherOrigins(home: URL, options: OtherOriginsOptions = {}): OtherOrigins {
  const { allowPrivate = [], resolve = systemResolve } = options
  checkHostRules(allowPrivate, 'allowPrivate')
  const isInside = isPrivateHost(home.hostname)
  const isPermitted = (address: string): boolean =>
    isInside ? !metadata.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4') : isPublicAddress(address)
  // No proxy from the environment: it would resolve names itself.
  const guarded = nodeTransport({ env: {}, lookup: checkedLookup({ resolve, mayConnect: isPermitted, refused }) })
  const unguarded = nodeTransport({ env: {}, lookup: checkedLookup({ resolve, mayConnect: () => true, refused }) })
  const isAllowed = ({ hostname, port, protocol }: URL): boolean =>
    matchesHostRule(hostname, Number(port) || (protocol === 'https:' ? 443 : 80), allowPrivate)

  return {
    check(url) {
      const { protocol, hostname, host } = checkedAddress(url)
      const isLoopback = loopback.test(normalizedHost(hostname))
      if (protocol === 'http:' && !isLoopback)
        throw new McpHttpError('insecure', `${host} would be asked over plain http, which can be read on the way`)
      if (isAllowed(url)) return
      const name = normalizedHost(hostname)
      const isRefused = isIP(name)
        ? !isPermitted(name)
        : isPrivateHost(hostname) && (!isInside || metadataNames.test(name))
      if (isRefused) throw refused(name)
    },
    transport: (request) => (isAllowed(new URL(request.url)) ? unguarded : guarded)(request),
  }
}

function checkedAddress(url: URL): URL {
  try {
    return parseWebUrl(url.href)
  } catch (error) {
    throw new McpHttpError('address', error instanceof Error ? error.message : 'the address cannot be used')
  }
}

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/
const metadataNames = /^(metadata|metadata\.google\.internal|instance-data(\.ec2\.internal)?)$/

/** Cloud metadata services, which hand out keys without authentication. */
const metadata = new BlockList()
metadata.addSubnet('169.254.0.0', 16, 'ipv4')
metadata.addAddress('100.100.100.200', 'ipv4')
metadata.addAddress('168.63.129.16', 'ipv4')
metadata.addSubnet('fe80::', 10, 'ipv6')
metadata.addAddress('fd00:ec2::254', 'ipv6')
metadata.addAddress('fd20:ce::254', 'ipv6')

function refused(host: string): McpHttpError {
  return new McpHttpError(
    'private',
    `${host} is not on the public internet, and the MCP server that names it is not inside either; if it is meant, put "${host}" on allowPrivate`,
  )
}
