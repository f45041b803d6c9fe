import { isUtf8 } from 'node:buffer'
import { isIP } from 'node:net'
import { codeOf } from '../core/errors.ts'
import { isPublicAddress, type Resolve } from './addresses.ts'
import { checkedLookup, resolveHere } from './checked-lookup.ts'
import { checkHostRules, isNamed, plainHost } from './host-rules.ts'
import { type HttpResponse, redirects } from './http.ts'
import { nodeTransport } from './http-node.ts'

export interface PublicWebOptions {
  /** Only these hosts: `docs.example.com`, `*.example.com`. Default: any that is public. */
  readonly allow?: readonly string[]
  /** Hosts that may be private, such as `localhost:8080`. */
  readonly allowPrivate?: readonly string[]
  /** Default 5. */
  readonly maxRedirects?: number
  /** All addresses of a name. Default: as this machine finds them. */
  readonly resolve?: Resolve
}

export interface PublicAnswer extends HttpResponse {
  /** Where the answer came from, after all redirects. */
  readonly url: string
}

/** Asks the web outside. Every hop is checked by the address that is really connected to. */
export type PublicWeb = (url: string, headers: Record<string, string>, signal: AbortSignal) => Promise<PublicAnswer>

/** A GET that cannot be led to this machine, its network or its cloud: by no name, no number, no redirect. */
export function publicWeb(options: PublicWebOptions = {}): PublicWeb {
  const { allow, allowPrivate = [], maxRedirects = 5, resolve = resolveHere } = options
  checkHostRules(allow ?? [], 'allow')
  checkHostRules(allowPrivate, 'allowPrivate')
  // No proxy of the environment: it would look names up itself.
  const guarded = nodeTransport({ env: {}, lookup: checkedLookup({ resolve, mayConnect: isPublicAddress, refused }) })
  const unguarded = nodeTransport({ env: {}, lookup: checkedLookup({ resolve, mayConnect: () => true, refused }) })

  return async (given, headers, signal) => {
    let url = webAddress(given)
    for (let hops = 0; ; hops++) {
      const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
      if (allow && !isNamed(url.hostname, port, allow))
        throw new Error(`${url.host} is not on the list of hosts that may be asked (${allow.join(', ')})`)
      const mayBePrivate = isNamed(url.hostname, port, allowPrivate)
      if (!mayBePrivate) checkLiteral(url)
      const request = { url: url.href, method: 'GET', headers, signal } as const
      const answer = await (mayBePrivate ? unguarded : guarded)(request).catch(withoutWrapping)
      const { location } = answer.headers
      if (!redirects.has(answer.status) || !location) return { ...answer, url: url.href }
      await answer.body[Symbol.asyncIterator]().return?.()
      if (hops === maxRedirects) throw new Error(`${url.host} redirects more than ${maxRedirects} times`)
      url = redirected(url, location)
    }
  }
}

/** A refusal found by the look-up reads like one found before. */
function withoutWrapping(error: unknown): never {
  throw error instanceof Error && codeOf(error) === 'EPRIVATE' ? error.cause : error
}

function redirected(from: URL, location: string): URL {
  const to = webAddress(asSent(location), from)
  if (from.protocol === 'https:' && to.protocol === 'http:')
    throw new Error(`${from.host} redirects from https to plain http (${to.host}), which is not followed`)
  return to
}

/** Node reads headers as Latin-1; what was sent as UTF-8 is made so again. */
function asSent(header: string): string {
  const bytes = Buffer.from(header, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : header
}

/** An http or https address that means what it shows. */
export function webAddress(text: string, base?: URL): URL {
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

/** Numbers are connected to without a look-up. Names that only mean something inside are told apart from those that fail. */
function checkLiteral({ hostname }: URL): void {
  if (isPrivateHost(hostname)) throw refused(plainHost(hostname))
}

/** By the address or name as it is written: what a name server says may change between two looks. */
export function isPrivateHost(hostname: string): boolean {
  const host = plainHost(hostname)
  return isIP(host) ? !isPublicAddress(host) : insideNames.test(host)
}

const insideNames = /(^|\.)(localhost|local|internal|lan|home\.arpa|localdomain)$/

function refused(host: string): Error {
  const text = `${host} is not on the public internet: this machine, private networks and metadata services cannot be fetched`
  return Object.assign(new Error(text), { code: 'EPRIVATE' })
}
