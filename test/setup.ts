import { type LookupFunction, Socket } from 'node:net'
import { vi } from 'vitest'

const isHere = /^(localhost|127\.|::1$)/

// Files that share a worker come here one after the other.
if (globalThis.fetch.name !== 'fetchHere') stayHere()

/** What a test waits for may take long on a busy machine; by itself vitest gives up after a second. */
const { waitFor } = vi
if (waitFor.name !== 'waitForLong')
  vi.waitFor = function waitForLong(check, options = {}) {
    return waitFor(check, typeof options === 'number' ? options : { timeout: 30_000, ...options })
  }

/** Tests send requests to this machine alone: one that leaves it is a bug in the test. */
function stayHere(): void {
  const { fetch } = globalThis
  globalThis.fetch = function fetchHere(input, init) {
    const { hostname } = new URL(input instanceof Request ? input.url : input)
    if (!['127.0.0.1', '[::1]', 'localhost'].includes(hostname))
      throw new Error('No network in tests: inject a fetch of your own')
    return fetch(input, init)
  }

  const { connect } = Socket.prototype
  Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
    const flat = args.flat()
    const host = hostOf(flat)
    if (host !== undefined && !isHere.test(host) && !keptHere(flat[0]))
      throw new Error(`No network in tests: connect to ${host}`)
    return Reflect.apply(connect, this, args) as Socket
  } as typeof connect
}

/** A name may be connected to when the test itself says which address it has, and that one is here. */
function keptHere(options: unknown): boolean {
  const given = options as { lookup?: LookupFunction & { isOfTest?: boolean } } | null
  const lookup = given?.lookup
  if (typeof lookup !== 'function' || lookup.isOfTest) return typeof lookup === 'function'
  const checked: LookupFunction = (host, how, done) =>
    lookup(host, how, (error, found, family) => {
      const away = [found].flat().find((one) => !isHere.test(typeof one === 'string' ? one : one.address))
      if (!error && away !== undefined) done(new Error(`No network in tests: ${host} leads to ${away}`), '', 0)
      else done(error, found, family)
    })
  given!.lookup = Object.assign(checked, { isOfTest: true })
  return true
}

function hostOf([first, second]: unknown[]): string | undefined {
  if (typeof first === 'object' && first !== null && 'host' in first) return String(first.host)
  return typeof second === 'string' ? second : undefined
}
