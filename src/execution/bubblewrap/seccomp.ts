import { endianness } from 'node:os'

/**
 * A filter for system calls as classic BPF. It blocks what namespaces and mounts do not: sockets to daemons of this machine
 * and its hypervisor, further user namespaces, kernel keys, programs that run with the rights of their owner, and parts of
 * the kernel that commands do not need and many attacks use. `undefined` if the system call numbers of the machine are unknown.
 */
export function seccompFilter(arch: string = process.arch): Buffer | undefined {
  const machine = machines[arch]
  if (!machine || endianness() !== 'LE') return undefined
  const { audit, calls } = machine
  return Buffer.concat([
    load(offsets.arch),
    ...unless(audit, [answer(killProcess)]),
    load(offsets.call),
    ...(arch === 'x64' ? [jump(atLeast, x32, 0, 1), answer(fail(ENOSYS))] : []),
    ...when(calls.socket, [
      load(offsets.first),
      ...internetFamilies.flatMap((family) => when(family, internetSocket)),
      ...when(netlink, [
        load(offsets.third),
        ...unlessOneOf(netlinkProtocols, [answer(fail(EPROTONOSUPPORT))]),
        answer(allow),
      ]),
      answer(fail(EPERM)),
    ]),
    // A datagram socket of a pair can be connected to any other socket; the kernel allows such pairs for other types too.
    ...when(calls.socketpair, [
      load(offsets.first),
      ...unless(unix, [answer(fail(EPERM))]),
      load(offsets.second),
      mask(typeMask),
      ...connectedTypes.flatMap((type) => when(type, [answer(allow)])),
      answer(fail(EPERM)),
    ]),
    ...[calls.clone, calls.unshare].flatMap((call) =>
      when(call, [load(offsets.first), jump(hasBits, newUserNamespace, 0, 1), answer(fail(EPERM)), answer(allow)]),
    ),
    // Its flags are in memory, which a filter cannot read; without it programs use `clone`.
    ...when(calls.clone3, [answer(fail(ENOSYS))]),
    // It can create sockets too.
    ...when(calls.ioUringSetup, [answer(fail(ENOSYS))]),
    // Its mode is in memory too; without it programs use `openat`.
    ...when(calls.openat2, [answer(fail(ENOSYS))]),
    ...calls.modes.flatMap(([call, mode, flags]) =>
      when(call, [
        ...(flags === undefined ? [] : [load(argument(flags)), jump(hasBits, createsFile, 1, 0), answer(allow)]),
        ...[load(argument(mode)), jump(hasBits, setUserId, 0, 1), answer(fail(EPERM)), answer(allow)],
      ]),
    ),
    ...calls.refused.flatMap((call) => when(call, [answer(fail(EPERM))])),
    answer(allow),
  ])
}

interface Calls {
  readonly socket: number
  readonly socketpair: number
  readonly clone: number
  readonly clone3: number
  readonly unshare: number
  readonly ioUringSetup: number
  readonly openat2: number
  /** Calls that give a file its mode: the numbers of that argument, and of the flags by which a file is created. */
  readonly modes: readonly (readonly [call: number, mode: number, flags?: number])[]
  /** setns, add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd */
  readonly refused: readonly number[]
}

const generic: Calls = {
  socket: 198,
  socketpair: 199,
  clone: 220,
  clone3: 435,
  unshare: 97,
  ioUringSetup: 425,
  openat2: 437,
  // fchmod, fchmodat, fchmodat2, mknodat, openat
  modes: [
    [52, 1],
    [53, 2],
    [452, 2],
    [33, 2],
    [56, 3, 2],
  ],
  refused: [268, 217, 218, 219, 280, 241, 282],
}

const x64: Calls = {
  socket: 41,
  socketpair: 53,
  clone: 56,
  clone3: 435,
  unshare: 272,
  ioUringSetup: 425,
  openat2: 437,
  // chmod, fchmod, fchmodat, fchmodat2, mknod, mknodat, creat, open, openat
  modes: [
    [90, 1],
    [91, 1],
    [268, 2],
    [452, 2],
    [133, 1],
    [259, 2],
    [85, 1],
    [2, 2, 1],
    [257, 3, 2],
  ],
  refused: [308, 248, 249, 250, 321, 298, 323],
}

const machines: Readonly<Record<string, { audit: number; calls: Calls }>> = {
  x64: { audit: 0xc000003e, calls: x64 },
  arm64: { audit: 0xc00000b7, calls: generic },
  riscv64: { audit: 0xc00000f3, calls: generic },
  loong64: { audit: 0xc0000102, calls: generic },
}

/** The offset of the lower half of an argument, counted from 0, in the data of a filter. */
const argument = (index: number): number => 16 + 8 * index
const offsets = { call: 0, arch: 4, first: argument(0), second: argument(1), third: argument(2) }
/** The first number of the x32 interface. */
const x32 = 0x40000000
/** IPv4 and IPv6: they are confined to the network namespace, and so is netlink. */
const internetFamilies = [2, 10]
const netlink = 16
const unix = 1
/** All but SOCK_NONBLOCK and SOCK_CLOEXEC. */
const typeMask = ~0x80800 >>> 0
/** SOCK_STREAM, SOCK_DGRAM, SOCK_RAW. For a type or a protocol that it does not know the kernel loads a module that knows it. */
const internetTypes = [1, 2, 3]
/** The usual one, ICMP, TCP, UDP, ICMPv6, MPTCP */
const internetProtocols = [0, 1, 6, 17, 58, 262]
/** NETLINK_ROUTE and NETLINK_KOBJECT_UEVENT, which libraries open to list interfaces and devices. */
const netlinkProtocols = [0, 15]
/** SOCK_STREAM, SOCK_SEQPACKET */
const connectedTypes = [1, 5]
const newUserNamespace = 0x10000000
const setUserId = 0o4000
/** O_CREAT, O_TMPFILE: else the mode is whatever the register holds. */
const createsFile = 0o100 | 0o20000000

const EPERM = 1
const ENOSYS = 38
const EPROTONOSUPPORT = 93
const allow = 0x7fff0000
const killProcess = 0x80000000
const fail = (errno: number): number => 0x00050000 | errno

const equals = 0x15
const atLeast = 0x35
const hasBits = 0x45

function when(value: number, then: readonly Buffer[]): Buffer[] {
  return [jump(equals, value, 0, then.length), ...then]
}

function unless(value: number, then: readonly Buffer[]): Buffer[] {
  return [jump(equals, value, then.length, 0), ...then]
}

function unlessOneOf(values: readonly number[], then: readonly Buffer[]): Buffer[] {
  const jumps = values.map((value, i) => jump(equals, value, values.length - 1 - i + then.length, 0))
  return [...jumps, ...then]
}

const load = (offset: number): Buffer => instruction(0x20, 0, 0, offset)
const mask = (bits: number): Buffer => instruction(0x54, 0, 0, bits)
const answer = (verdict: number): Buffer => instruction(0x06, 0, 0, verdict)
const jump = (test: number, value: number, yes: number, no: number): Buffer => instruction(test, yes, no, value)

function instruction(code: number, yes: number, no: number, value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt8(yes, 2)
  bytes.writeUInt8(no, 3)
  bytes.writeUInt32LE(value >>> 0, 4)
  return bytes
}

const internetSocket: readonly Buffer[] = [
  ...[load(offsets.second), mask(typeMask)],
  ...unlessOneOf(internetTypes, [answer(fail(EPROTONOSUPPORT))]),
  load(offsets.third),
  ...unlessOneOf(internetProtocols, [answer(fail(EPROTONOSUPPORT))]),
  answer(allow),
]
