import { BlockList, isIP } from 'node:net'
import {
  checkedLookup,
  checkHostRules,
  isPublicAddress,
  matchesHostRule,
  type Resolve,
  systemResolve,
} from '../../platform/addresses.ts'
import { normalizedHost } from '../../platform/host-name.ts'
import type { Transport } from '../../platform/http.ts'
import { nodeTransport } from '../../platform/http-node.ts'
import { isPrivateHost, parseWebUrl } from '../../platform/public-web.ts'
import { McpHttpError } from './transport-fetch.ts'

export interface OtherOriginsOptions {
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
export function otherOrigins(home: URL, options: OtherOriginsOptions = {}): OtherOrigins {
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
