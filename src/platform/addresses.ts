import { BlockList, isIP } from 'node:net'

/** Everything that is not out in the open internet: this machine, its networks, its cloud, and what is reserved. */
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
  ['64:ff9b::', 96], // NAT64: an IPv4 address in disguise
  ['64:ff9b:1::', 48], // NAT64, local
  ['100::', 64], // discard
  ['2001::', 23], // protocol assignments, Teredo
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4: an IPv4 address in disguise
  ['3fff::', 20], // documentation
  ['5f00::', 16], // segment routing
  ['fc00::', 7], // unique local
  ['fe80::', 10], // link-local
  ['fec0::', 10], // site-local, given up
  ['ff00::', 8], // multicast
]

const blocked = new BlockList()
for (const [network, prefix] of reserved) blocked.addSubnet(network, prefix, isIP(network) === 4 ? 'ipv4' : 'ipv6')

/** What the internet of today is made of; nothing else of IPv6 leads to it. */
const mapped = new BlockList()
mapped.addSubnet('::ffff:0:0', 96, 'ipv6')
const global6 = new BlockList()
global6.addSubnet('2000::', 3, 'ipv6')

/** Whether an IP address may be anybody's on the internet. An IPv4 address inside an IPv6 one is judged as what it is; what is no address is not public. */
export function isPublicAddress(address: string): boolean {
  const plain = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '')
  const family = isIP(plain)
  if (family === 0) return false
  if (family === 4) return !blocked.check(plain, 'ipv4')
  const isMapped = mapped.check(plain, 'ipv6')
  return (isMapped || global6.check(plain, 'ipv6')) && !blocked.check(plain, 'ipv6')
}

/** All addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>
