import { BlockList, isIP } from 'node:net'
import {
  checkedLookup,
  checkHostRules,
  isPublicAddress,
  matchesHostRule,
  normalizedHost,
  type Resolve,
  systemResolve,
} from '../../platform/addresses.ts'
import type { Transport } from '../../platform/http.ts'
import { nodeTransport } from '../../platform/http-node.ts'
import { isPrivateHost, parseWebUrl } from '../../platform/public-web.ts'
import { McpHttpError } from './transport-fetch.ts'

export interface OtherOriginsOptions {
  /** Hosts that may be private though the server is not, such as `auth.corp.example`. */
  readonly allowPrivate?: readonly string[]
  /** All addresses of a name. Default: as this machine finds them. */
  readonly resolve?: Resolve
}

/** What a server names for its logins lies at other origins, and is nobody's choice but the server's. */
export interface OtherOrigins {
  /** Throws where an address must not be asked. */
  check(url: URL): void
  /** Connects to addresses it has checked, and to no others. */
  readonly transport: Transport
}

/** Where a server at `home` may lead us: to the public internet, and inside only if it is there itself. */
export function otherOrigins(home: URL, options: OtherOriginsOptions = {}): OtherOrigins {
  const { allowPrivate = [], resolve = systemResolve } = options
  checkHostRules(allowPrivate, 'allowPrivate')
  const isInside = isPrivateHost(home.hostname)
  const mayAsk = (address: string): boolean =>
    isInside ? !metadata.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4') : isPublicAddress(address)
  // No proxy of the environment: it would look names up itself.
  const guarded = nodeTransport({ env: {}, lookup: checkedLookup({ resolve, mayConnect: mayAsk, refused }) })
  const unguarded = nodeTransport({ env: {}, lookup: checkedLookup({ resolve, mayConnect: () => true, refused }) })
  const isAllowed = ({ hostname, port, protocol }: URL): boolean =>
    matchesHostRule(hostname, Number(port) || (protocol === 'https:' ? 443 : 80), allowPrivate)

  return {
    check(url) {
      const { protocol, hostname, host } = checkedAddress(url)
      const isLoopback = loopback.test(normalizedHost(hostname))
      if (protocol === 'http:' && !isLoopback)
        throw new McpHttpError('insecure', `${host} would be asked over plain http, which anybody on the way can read`)
      if (isAllowed(url)) return
      const name = normalizedHost(hostname)
      const isRefused = isIP(name) ? !mayAsk(name) : isPrivateHost(hostname) && (!isInside || metadataNames.test(name))
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

/** Where clouds hand out keys to whoever asks. No login is there. */
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
