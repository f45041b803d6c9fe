import { lookup as systemLookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import type { Resolve } from './addresses.ts'

export interface CheckedLookupOptions {
  readonly resolve: Resolve
  mayConnect(address: string): boolean
  /** What it fails with where a name has no address that may be connected to. */
  refused(host: string): Error
}

/** Checks the very addresses that the connection is then made to, so that a second answer of a name server changes nothing. */
export function checkedLookup({ resolve, mayConnect, refused }: CheckedLookupOptions): LookupFunction {
  return (host, { all }, done) => {
    resolve(host).then(
      (found) => {
        const list = found.filter(mayConnect).map((address) => ({ address, family: isIP(address) }))
        const [first] = list
        if (!first) done(refused(host), all ? [] : '', 0)
        else if (all) done(null, list)
        else done(null, first.address, first.family)
      },
      (error) => done(error, '', 0),
    )
  }
}

/** As this machine finds them. */
export const resolveHere: Resolve = async (host) =>
  (await systemLookup(host, { all: true, verbatim: true })).map(({ address }) => address)
