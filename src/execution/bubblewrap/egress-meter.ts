import type { Socket } from 'node:net'
import { messageOf } from '../../core/errors.ts'
import type { EgressProxyOptions } from './egress-proxy.ts'
import type { EgressEvent } from './options.ts'

/** Counts what goes through, tells it, and closes the way when too much went out. */
export interface EgressMeter {
  /** Why nothing may go out any more, if so. */
  problem(): Error | undefined
  refuse(host: string, port: number, reason: string): void
  /** Told of a host that may be reached, and could not be. */
  fail(target: Target, reason: string): void
  /** From now on all that is written to the socket counts, before it goes out; it is destroyed instead of sending too much. */
  open(target: Target, socket: Socket): EgressCount
}

interface Target {
  readonly host: string
  readonly port: number
}

export interface EgressCount {
  received(bytes: number): void
}

export function egressMeter({ maxUpload = Number.POSITIVE_INFINITY, onEgress }: EgressProxyOptions): EgressMeter {
  let uploaded = 0
  const isFull = (): boolean => uploaded > maxUpload
  const limit = `the limit of ${maxUpload} bytes to send was reached`

  function tell(event: EgressEvent): void {
    try {
      onEgress?.(event)
    } catch {
      // a listener that fails is no reason for a connection to
    }
  }

  return {
    problem() {
      if (!isFull()) return undefined
      const reason = `more than the ${maxUpload} bytes were to be sent that this sandbox may send; nothing goes out any more`
      return Object.assign(new Error(reason), { code: 'EREFUSED' })
    },

    refuse: (host, port, reason) => tell({ host, port, allowed: false, reason, bytesSent: 0, bytesReceived: 0 }),

    fail: ({ host, port }, reason) => tell({ host, port, allowed: true, reason, bytesSent: 0, bytesReceived: 0 }),

    open({ host, port }, socket) {
      let bytesSent = 0
      let bytesReceived = 0
      let problem: string | undefined
      guardWrites(socket, (bytes) => {
        uploaded += bytes
        if (isFull()) return false
        bytesSent += bytes
        return true
      })
      socket.on('error', (error) => (problem = messageOf(error)))
      socket.once('close', () => {
        const reason = isFull() ? limit : problem
        tell({ host, port, allowed: true, ...(reason !== undefined && { reason }), bytesSent, bytesReceived })
      })
      return {
        received(bytes) {
          bytesReceived += bytes
        },
      }
    },
  }
}

/** Not by listening to whoever writes: the lines and headers that come before a body are written by nobody we could hear. */
function guardWrites(socket: Socket, mayGo: (bytes: number) => boolean): void {
  const { write } = socket
  socket.write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
    const [encoding] = rest
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encodingOf(encoding)).length : chunk.byteLength
    if (!socket.destroyed && mayGo(bytes)) return Reflect.apply(write, socket, [chunk, ...rest])
    socket.destroy()
    return false
  }
}

function encodingOf(given: unknown): BufferEncoding {
  return typeof given === 'string' && Buffer.isEncoding(given) ? given : 'utf8'
}
