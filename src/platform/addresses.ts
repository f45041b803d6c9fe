import { lookup as systemLookup } from 'node:dns/promises'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { normalizedHost } from './host-name.ts'

/** All addresses that are not on the public internet: this machine, its networks, its cloud, and reserved ranges. */
const reserved: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8], // this host
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // shared by carriers; also some clouds' metadata
  ['127.0.0.0', 8], // loopback
  ['169.254.0.0', 16], // link-local, metadata
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
  ['::', 96], // unspecified, loopback, IPv4-compatible
  ['64:ff9b::', 96], // NAT64: contains an IPv4 address
  ['64:ff9b:1::', 48], // NAT64, local
  ['100::', 64], // discard
  ['2001::', 23], // protocol assignments, Teredo
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4: contains an IPv4 address
  ['3fff::', 20], // documentation
  ['5f00::', 16], // segment routing
  ['fc00::', 7], // unique local
  ['fe80::', 10], // link-local
  ['fec0::', 10], // site-local, deprecated
  ['ff00::', 8], // multicast
]

const blocked = new BlockList()
for (const [network, prefix] of reserved) blocked.addSubnet(network, prefix, isIP(network) === 4 ? 'ipv4' : 'ipv6')

/** The only IPv6 ranges that lead to the public internet. */
const mapped = new BlockList()
mapped.addSubnet('::ffff:0:0', 96, 'ipv6')
const global6 = new BlockList()
global6.addSubnet('2000::', 3, 'ipv6')

/** Whether an IP address is on the public internet. An IPv4-mapped IPv6 address is judged as IPv4; an invalid address is not public. */
export function isPublicAddress(address: string): boolean {
  const plain = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '')
  const family = isIP(plain)
  if (family === 0) return false
  if (family === 4) return !blocked.check(plain, 'ipv4')
  const isMapped = mapped.check(plain, 'ipv6')
  return (isMapped || global6.check(plain, 'ipv6')) && !blocked.check(plain, 'ipv6')
}

/** Finds all addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>

/**
 * Whether a host matches one of the rules: `x.test` is only that host, `*.x.test` any host below it but not itself. A rule
 * with a port, `x.test:8080`, applies to that port only.
 */
export function matchesHostRule(host: string, port: number, rules: readonly string[]): boolean {
  const plain = normalizedHost(host)
  return rules.some((rule) => matches(rule, plain, port))
}

/** Throws if a rule is no valid host, or would match every host. */
export function checkHostRules(rules: readonly string[], where: string): void {
  for (const rule of rules) {
    const [name] = splitPort(rule)
    const labels = name.replace(/^\*\./, '').replace(/\.$/, '')
    const isAddress = isIP(labels.replace(/^\[(.*)\]$/, '$1')) > 0
    if (!isAddress && (/[*/@\s\\:[\]]/.test(labels) || labels.split('.').includes('')))
      throw new TypeError(
        `${where} has "${rule}", which is no host; write a host such as "docs.example.com" or "*.example.com"`,
      )
  }
}

function matches(rule: string, host: string, port: number): boolean {
  const [name, only] = splitPort(rule)
  if (only !== undefined && only !== port) return false
  if (!name.startsWith('*.')) return normalizedHost(name) === host
  return host.endsWith(`.${normalizedHost(name.slice(2))}`)
}

/** An IPv6 address contains colons, so with a port it is in brackets. */
function splitPort(rule: string): [name: string, port: number | undefined] {
  const [, name, port] = /^(\[.*\]|[^:]*):(\d+)$/.exec(rule) ?? []
  return name === undefined ? [rule, undefined] : [name, Number(port)]
}

interface CheckedLookupOptions {
  readonly resolve: Resolve
  mayConnect(address: string): boolean
  /** The error for a name that may not be connected to. */
  refused(host: string): Error
}

/** Checks the same addresses that are then connected to, so that a second answer of the name server changes nothing. */
export function checkedLookup({ resolve, mayConnect, refused }: CheckedLookupOptions): LookupFunction {
  return (host, { all }, done) => {
    resolve(host).then(
      (found) => {
        const list = permittedAddresses(found, mayConnect).map((address) => ({ address, family: isIP(address) }))
        const [first] = list
        if (!first) done(refused(host), all ? [] : '', 0)
        else if (all) done(null, list)
        else done(null, first.address, first.family)
      },
      (error) => done(error, '', 0),
    )
  }
}

/**
 * The addresses of a name, if all may be connected to; otherwise none. A name with a public and a private address is
 * refused: such answers are made to get past checks, and the next lookup may give the private one alone.
 */
export function permittedAddresses(found: readonly string[], mayConnect: (address: string) => boolean): string[] {
  // Networks with IPv6 alone add translations of IPv4 addresses to the answers. They are left out, so never connected to.
  const own = found.filter((address) => !isTranslated(address))
  const judged = own.length > 0 ? own : found
  return judged.every((address) => mayConnect(address)) ? [...judged] : []
}

const translated = new BlockList()
translated.addSubnet('64:ff9b::', 96, 'ipv6')

const isTranslated = (address: string): boolean => isIP(address) === 6 && translated.check(address, 'ipv6')

/** Uses the resolver of this machine. */
export const systemResolve: Resolve = async (host) =>
  (await systemLookup(host, { all: true, verbatim: true })).map(({ address }) => address)
