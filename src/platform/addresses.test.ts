import { describe, expect, test } from 'vitest'
import { isPublicAddress, permittedAddresses } from './addresses.ts'

describe('an address on the internet', () => {
  test.each(['1.1.1.1', '8.8.8.8', '93.184.216.34', '172.15.255.255', '172.32.0.1', '100.63.255.255', '192.169.0.1'])(
    '%s is public',
    (address) => expect(isPublicAddress(address)).toBe(true),
  )
  test.each(['2606:4700:4700::1111', '2a00:1450:4001:80b::200e', '[2606:4700:4700::1111]', '::ffff:8.8.8.8'])(
    '%s is public',
    (address) => expect(isPublicAddress(address)).toBe(true),
  )
})

describe('an address that is not on the public internet', () => {
  test.each([
    ['NET-01 metadata', '169.254.169.254'],
    ['NET-01 metadata of another cloud', '100.100.100.200'],
    ['NET-02 loopback', '127.0.0.1'],
    ['NET-02 all of the loopback network', '127.255.255.254'],
    ['NET-02 this host', '0.0.0.0'],
    ['NET-03 IPv6 loopback', '::1'],
    ['NET-03 IPv6 loopback in brackets', '[::1]'],
    ['NET-03 unspecified', '::'],
    ['NET-03 mapped', '::ffff:127.0.0.1'],
    ['NET-03 mapped, in hexadecimal', '0:0:0:0:0:ffff:7f00:1'],
    ['NET-03 IPv4-compatible', '::127.0.0.1'],
    ['NET-05 NAT64', '64:ff9b::7f00:1'],
    ['NET-05 6to4', '2002:7f00:1::'],
    ['NET-05 Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    ['NET-05 unique local', 'fd00::1'],
    ['NET-05 link-local', 'fe80::1'],
    ['NET-05 link-local with a zone', 'fe80::1%eth0'],
    ['NET-05 shared by carriers', '100.64.0.1'],
    ['NET-05 benchmarks', '198.18.0.1'],
    ['private', '10.1.2.3'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.1.1'],
    ['multicast', '224.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['IPv6 multicast', 'ff02::1'],
    ['IPv4 translated', '::ffff:0:127.0.0.1'],
    ['unassigned space', '4000::1'],
    ['unassigned space', '1::1'],
  ])('%s: %s', (_, address) => expect(isPublicAddress(address)).toBe(false))

  test.each(['', 'localhost', 'example.com', '1.2.3', '999.1.1.1', ':::'])('no address at all: "%s"', (text) =>
    expect(isPublicAddress(text)).toBe(false),
  )
})

describe('the addresses of a name', () => {
  test.each([
    [['1.1.1.1', '10.0.0.7'], []],
    [['10.0.0.7', '1.1.1.1'], []],
    [['2606:4700:4700::1111', '::1'], []],
    [['1.1.1.1', '::ffff:127.0.0.1'], []],
    [['1.1.1.1', 'no address'], []],
    [['127.0.0.1'], []],
    [[], []],
    [
      ['1.1.1.1', '2606:4700:4700::1111'],
      ['1.1.1.1', '2606:4700:4700::1111'],
    ],
    [['64:ff9b::101:101', '1.1.1.1'], ['1.1.1.1']],
    [['64:ff9b::7f00:1', '1.1.1.1'], ['1.1.1.1']],
    [['64:ff9b::101:101'], []],
  ])('S14 %j: %j may be connected to', (found, permitted) => {
    expect(permittedAddresses(found, isPublicAddress)).toEqual(permitted)
  })
})
