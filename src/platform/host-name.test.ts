import { expect, test } from 'vitest'
import { hostIn, normalizedHost } from './host-name.ts'

test.each([
  ['B.test', 'b.test'],
  ['b.test.', 'b.test'],
  ['b.test..', 'b.test'],
  ['b%2Etest', 'b.test'],
  ['b.%74est', 'b.test'],
  ['bücher.test', 'xn--bcher-kva.test'],
  ['BÜCHER.test', 'xn--bcher-kva.test'],
  ['xn--bcher-kva.test', 'xn--bcher-kva.test'],
  ['ｂ．test', 'b.test'],
  ['b。test', 'b.test'],
  ['2130706433', '127.0.0.1'],
  ['0x7f.1', '127.0.0.1'],
  ['0177.0.0.1', '127.0.0.1'],
  ['[::1]', '::1'],
  ['0:0:0:0:0:0:0:1', '::1'],
  ['[::FFFF:127.0.0.1]', '::ffff:7f00:1'],
  ['a b', 'a b'],
  ['', ''],
])('S07 the host %s is %s', (host, normal) => {
  expect(normalizedHost(host)).toBe(normal)
  expect(normalizedHost(normal)).toBe(normal)
})

test.each([
  ['https://user:pw@B.test:8443/x?y#z', 'b.test'],
  ['http://a.test@b.test/', 'b.test'],
  ['b.test:443', 'b.test'],
  ['b.test:*', 'b.test'],
  ['[::1]:80', '::1'],
  ['::1', '::1'],
  ['b.test./path', 'b.test'],
  ['*.Bücher.test.', '*.xn--bcher-kva.test'],
  ['*.b.test:80', '*.b.test'],
  ['10.*', '10.*'],
  ['*', '*'],
])('S07 the host in %s is %s', (address, host) => {
  expect(hostIn(address)).toBe(host)
})
