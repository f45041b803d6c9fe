import { lookup } from 'node:dns/promises'
import { connect as connectHere, isIP, type Socket } from 'node:net'
import { checkHostRules, isPublicAddress, matchesHostRule, permittedAddresses } from '../../platform/addresses.ts'
import { normalizedHost } from '../../platform/host-name.ts'
import type { BubblewrapNetwork } from './options.ts'

export interface EgressRules extends Pick<BubblewrapNetwork, 'allow' | 'deny' | 'resolve'> {
  /** Default: TCP. */
  readonly connect?: (address: string, port: number) => Socket
}

/** An allowed destination. */
export interface EgressTarget {
  readonly host: string
  readonly port: number
  /** Connects to one of the checked addresses. */
  connect(): Promise<Socket>
}

/** Checks where a sandbox may connect to. */
export function createEgressRules(rules: EgressRules): { find(host: string, port: number): Promise<EgressTarget> } {
  const { allow, deny = [], resolve = systemResolve, connect = (host, port) => connectHere({ host, port }) } = rules
  checkHostRules(allow, 'network.allow')
  checkHostRules(deny, 'network.deny')

  /** Addresses that are not public must be named literally. */
  const literals = allow.filter((rule) => !rule.startsWith('*'))

  function mayConnect(address: string, host: string, port: number): boolean {
    if (matchesHostRule(address, port, deny)) return false
    if (isPublicAddress(address) || matchesHostRule(address, port, literals)) return true
    return host === 'localhost' && loopback.test(address)
  }

  return {
    async find(asked, port) {
      const host = normalizedHost(asked)
      if (matchesHostRule(host, port, deny)) throw refused(`${host} is denied`)
      if (!matchesHostRule(host, port, allow)) throw refused(`${host}:${port} is not allowed (only ${list(allow)})`)
      const addresses = isIP(host) ? [host] : await resolve(host)
      const checked = permittedAddresses(addresses, (address) => mayConnect(address, host, port))
      if (checked.length === 0)
        throw refused(`${host} has no address, or one that is neither public nor allowed as it is`)
      return { host, port, connect: () => firstOf(checked.map((address) => () => connect(address, port))) }
    },
  }
}

const connectMs = 20_000
const mostTries = 4

async function firstOf(tries: readonly (() => Socket)[]): Promise<Socket> {
  let problem: unknown
  for (const start of tries.slice(0, mostTries)) {
    try {
      return await connected(start())
    } catch (error) {
      problem = error
    }
  }
  throw problem
}

function connected(socket: Socket): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => socket.destroy(new Error('the host did not answer')), connectMs)
    socket.once('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
    socket.once('connect', () => {
      clearTimeout(timer)
      resolve(socket)
    })
  })
}

const loopback = /^(127\.|::1$)/
const mostNamed = 10

function list(allow: readonly string[]): string {
  if (allow.length === 0) return 'nothing is'
  return allow.length > mostNamed ? `${allow.slice(0, mostNamed).join(', ')}, …` : allow.join(', ')
}

function refused(reason: string): Error {
  return Object.assign(new Error(reason), { code: 'EREFUSED' })
}

const systemResolve = async (host: string): Promise<string[]> =>
  (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address)
