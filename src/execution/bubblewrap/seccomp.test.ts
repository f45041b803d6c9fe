import { describe, expect, test } from 'vitest'
import { seccompFilter } from './seccomp.ts'

const allowed = 'allowed'
const numbers = {
  x64: {
    audit: 0xc000003e,
    socket: 41,
    socketpair: 53,
    clone: 56,
    unshare: 272,
    setns: 308,
    keyctl: 250,
    read: 0,
    fchmod: 91,
    fchmodat: 268,
    openat: 257,
  },
  arm64: {
    audit: 0xc00000b7,
    socket: 198,
    socketpair: 199,
    clone: 220,
    unshare: 97,
    setns: 268,
    keyctl: 219,
    read: 63,
    fchmod: 52,
    fchmodat: 53,
    openat: 56,
  },
}

describe.each(Object.entries(numbers))('the filter for system calls on %s', (arch, calls) => {
  const filter = seccompFilter(arch)!
  const ask = (call: number, ...args: number[]) => verdict(filter, calls.audit, call, args)

  test('lets ordinary calls through', () => {
    for (const call of [calls.read, 1, 5, 100, 400]) expect(ask(call)).toBe(allowed)
  })

  test('allows sockets of the internet and of the kernel, no others', () => {
    for (const family of [2, 10, 16]) expect(ask(calls.socket, family, 1)).toBe(allowed)
    for (const family of [0, 1, 3, 17, 31, 38, 40, 44]) expect(ask(calls.socket, family, 1)).toBe('error 1')
  })

  test('allows no protocol for which the kernel would load a module', () => {
    for (const family of [2, 10])
      for (const [type, protocol] of [
        [1, 0],
        [0x80801, 6],
        [2, 17],
        [2, 1],
        [1, 262],
        [3, 58],
      ] as const)
        expect(ask(calls.socket, family, type, protocol)).toBe(allowed)
    for (const [type, protocol] of [
      [1, 132],
      [5, 0],
      [6, 33],
      [6, 0],
      [2, 115],
      [2, 136],
      [1, 256],
      [10, 0],
    ] as const)
      expect(`${type} ${protocol} ${ask(calls.socket, 2, type, protocol)}`).toBe(`${type} ${protocol} error 93`)
    for (const protocol of [0, 15]) expect(ask(calls.socket, 16, 3, protocol)).toBe(allowed)
    for (const protocol of [2, 4, 6, 9, 10, 11, 12, 16, 21]) expect(ask(calls.socket, 16, 3, protocol)).toBe('error 93')
  })

  test('allows pairs of sockets, but none that can be pointed elsewhere', () => {
    expect(ask(calls.socketpair, 1, 1)).toBe(allowed)
    expect(ask(calls.socketpair, 1, 0x80001)).toBe(allowed)
    expect(ask(calls.socketpair, 1, 0x80805)).toBe(allowed)
    for (const family of [2, 30, 31]) expect(ask(calls.socketpair, family, 1)).toBe('error 1')
    for (const type of [2, 0x80802, 3, 0x80003, 0, 4, 6, 10, 0x11])
      expect(`${type} ${ask(calls.socketpair, 1, type)}`).toBe(`${type} error 1`)
  })

  test('allows processes, but no user namespaces', () => {
    for (const call of [calls.clone, calls.unshare]) {
      expect(ask(call, 0x11)).toBe(allowed)
      expect(ask(call, 0x10000011)).toBe('error 1')
    }
    expect(ask(435)).toBe('error 38')
  })

  test('refuses what opens a way around', () => {
    expect(ask(425)).toBe('error 38')
    for (const call of [calls.setns, calls.keyctl]) expect(ask(call)).toBe('error 1')
  })

  test('allows modes of files, but no program that runs with the rights of its owner', () => {
    const [creates, temporary] = [0o101, 0o20200002]
    expect(ask(calls.fchmod, 3, 0o755)).toBe(allowed)
    expect(ask(calls.fchmodat, 3, 0, 0o2775)).toBe(allowed)
    expect(ask(calls.openat, 3, 0, creates, 0o755)).toBe(allowed)
    expect(ask(calls.openat, 3, 0, 0, 0o7777)).toBe(allowed) // without a file to create it is no mode
    expect(ask(calls.fchmod, 3, 0o4755)).toBe('error 1')
    expect(ask(calls.fchmodat, 3, 0, 0o6755)).toBe('error 1')
    for (const flags of [creates, temporary]) expect(ask(calls.openat, 3, 0, flags, 0o4755)).toBe('error 1')
    expect(ask(437)).toBe('error 38')
  })

  test('kills processes that use the calls of another architecture', () => {
    expect(verdict(filter, 0x40000003, calls.read, [])).toBe('killed')
    if (arch === 'x64') expect(ask(0x40000000 + calls.socket, 1, 1)).toBe('error 38')
  })
})

test('there is none for a machine whose numbers we do not know', () => {
  expect(seccompFilter('s390x')).toBeUndefined()
})

/** What the kernel would decide: a small part of its machine. */
function verdict(filter: Buffer, audit: number, call: number, args: readonly number[]): string {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(call >>> 0, 0)
  data.writeUInt32LE(audit >>> 0, 4)
  for (const [i, arg] of args.entries()) data.writeUInt32LE(arg >>> 0, 16 + 8 * i)
  let value = 0
  for (let at = 0; at < filter.length; at += 8) {
    const [code, yes, no, k] = [filter.readUInt16LE(at), filter[at + 2]!, filter[at + 3]!, filter.readUInt32LE(at + 4)]
    if (code === 0x20) value = data.readUInt32LE(k)
    if (code === 0x54) value = (value & k) >>> 0
    if (code === 0x06) return k === 0x7fff0000 ? allowed : k === 0x80000000 ? 'killed' : `error ${k & 0xffff}`
    const holds = { 21: value === k, 53: value >= k, 69: (value & k) !== 0 }[code]
    if (holds !== undefined) at += 8 * (holds ? yes : no)
  }
  return 'fell off the end'
}
