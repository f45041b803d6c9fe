import { Socket } from 'node:net'

/** Tests talk to nobody: a request that leaves this machine is a bug in the test. */
globalThis.fetch = () => {
  throw new Error('No network in tests: inject a fetch of your own')
}

const connect = Socket.prototype.connect
Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
  const host = hostOf(args.flat())
  if (host !== undefined && !/^(localhost|127\.|::1$)/.test(host))
    throw new Error(`No network in tests: connect to ${host}`)
  return Reflect.apply(connect, this, args) as Socket
} as typeof connect

function hostOf([first, second]: unknown[]): string | undefined {
  if (typeof first === 'object' && first !== null && 'host' in first) return String(first.host)
  return typeof second === 'string' ? second : undefined
}
