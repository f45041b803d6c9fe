import { isUtf8 } from 'node:buffer'
import { isIP } from 'node:net'
import { codeOf } from '../core/errors.ts'
import {
  checkedLookup,
  checkHostRules,
  isPublicAddress,
  matchesHostRule,
  type Resolve,
  systemResolve,
} from './addresses.ts'
import { normalizedHost } from './host-name.ts'
import { type HttpResponse, redirects } from './http.ts'
import { nodeTransport } from './http-node.ts'

export interface PublicAnswer extends HttpResponse {
  /** The address of the answer, after all redirects. */
  readonly url: string
  /** Where the answer redirects to, if that is another host. It was not asked: only the caller may decide about it. */
  readonly redirectsTo?: string
}

/** Requests a public address. Redirects within its host are followed. */
export type PublicWeb = (url: string, headers: Record<string, string>, signal: AbortSignal) => Promise<PublicAnswer>

/**
 * A GET that no name, address or redirect can lead to this machine, its network or its cloud, except to the hosts of
 * `allowPrivate`. With `allow`, only to these hosts.
 */
export function publicWeb({
  allow,
  allowPrivate = [],
  maxRedirects = 5,
  resolve = systemResolve,
}: {
  readonly allow?: readonly string[]
  readonly allowPrivate?: readonly string[]
  readonly maxRedirects?: number
  readonly resolve?: Resolve
} = {}): PublicWeb {
  checkHostRules(allow ?? [], 'allow')
  checkHostRules(allowPrivate, 'allowPrivate')
  // No proxy from the environment, because it would resolve names itself.
  const guarded = nodeTransport({ env: {}, lookup: checkedLookup({ resolve, mayConnect: isPublicAddress, refused }) })
  const unguarded = nodeTransport({ env: {}, lookup: checkedLookup({ resolve, mayConnect: () => true, refused }) })

  return async (given, headers, signal) => {
    let url = parseWebUrl(given)
    for (let hops = 0; ; hops++) {
      const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
      if (allow && !matchesHostRule(url.hostname, port, allow))
        throw new Error(`${url.host} is not on the list of hosts that may be asked (${allow.join(', ')})`)
      const mayBePrivate = matchesHostRule(url.hostname, port, allowPrivate)
      if (!mayBePrivate) checkLiteral(url)
      const request = { url: url.href, method: 'GET', headers, signal } as const
      const answer = await (mayBePrivate ? unguarded : guarded)(request).catch(withoutWrapping)
      const { location } = answer.headers
      if (!redirects.has(answer.status) || !location) return { ...answer, url: url.href }
      await answer.body[Symbol.asyncIterator]().return?.()
      if (hops === maxRedirects) throw new Error(`${url.host} redirects more than ${maxRedirects} times`)
      const next = redirected(url, location)
      if (normalizedHost(next.hostname) !== normalizedHost(url.hostname))
        return { ...answer, url: url.href, redirectsTo: next.href }
      url = next
    }
  }
}

/** A refusal by the lookup reads like one before it. */
function withoutWrapping(error: unknown): never {
  throw error instanceof Error && codeOf(error) === 'EPRIVATE' ? error.cause : error
}

function redirected(from: URL, location: string): URL {
  const to = parseWebUrl(asSent(location), from)
  if (from.protocol === 'https:' && to.protocol === 'http:')
    throw new Error(`${from.host} redirects from https to plain http (${to.host}), which is not followed`)
  return to
}

/** Node reads headers as Latin-1; a header that was sent as UTF-8 is decoded again. */
function asSent(header: string): string {
  const bytes = Buffer.from(header, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : header
}

/** Parses an http or https URL, and refuses characters that would make it mean another host than it shows. */
export function parseWebUrl(text: string, base?: URL): URL {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a parser drops some of them, so that another host is asked than the one shown
  if (/[\x00-\x1f\x7f\\]/.test(text))
    throw new Error('the URL has a control character or a backslash in it; write it without')
  const url = URL.parse(text.trim(), base?.href)
  if (!url) throw new Error(`"${text.slice(0, 200)}" is not a URL; give a whole one, such as https://example.com/page`)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new Error(`only http and https can be fetched, not ${url.protocol}`)
  if (url.username !== '' || url.password !== '')
    throw new Error(`the URL has a user name or password before ${url.host}; leave it out`)
  url.hash = ''
  return url
}

/** IP addresses are connected to without a lookup, and names of private networks get a clear error. */
function checkLiteral({ hostname }: URL): void {
  if (isPrivateHost(hostname)) throw refused(normalizedHost(hostname))
}

/** Judges the host as written, because the answer of a name server may change. */
export function isPrivateHost(hostname: string): boolean {
  const host = normalizedHost(hostname)
  return isIP(host) ? !isPublicAddress(host) : privateNames.test(host)
}

const privateNames = /(^|\.)(localhost|local|internal|lan|home\.arpa|localdomain)$/

function refused(host: string): Error {
  const text = `${host} is not on the public internet: this machine, private networks and metadata services cannot be fetched`
  return Object.assign(new Error(text), { code: 'EPRIVATE' })
}
