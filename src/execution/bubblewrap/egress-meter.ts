import type { EgressProxyOptions } from './egress-proxy.ts'
import type { EgressEvent } from './options.ts'

/** Counts what goes through, tells it, and closes the way when too much went out. */
export interface EgressMeter {
  /** Throws when nothing may go out any more. */
  check(): void
  refuse(host: string, port: number, reason: string): void
  open(target: { host: string; port: number }, stop: () => void): EgressCount
}

export interface EgressCount {
  sent(bytes: number): void
  received(bytes: number): void
  end(): void
}

export function egressMeter({ maxUpload = Number.POSITIVE_INFINITY, onEgress }: EgressProxyOptions): EgressMeter {
  let uploaded = 0
  const isFull = (): boolean => uploaded > maxUpload

  function tell(event: EgressEvent): void {
    try {
      onEgress?.(event)
    } catch {
      // a listener that fails is no reason for a connection to
    }
  }

  return {
    check() {
      if (!isFull()) return
      const reason = `more than the ${maxUpload} bytes were sent that this sandbox may send; nothing goes out any more`
      throw Object.assign(new Error(reason), { code: 'EREFUSED' })
    },

    refuse: (host, port, reason) => tell({ host, port, allowed: false, reason, bytesSent: 0, bytesReceived: 0 }),

    open({ host, port }, stop) {
      let bytesSent = 0
      let bytesReceived = 0
      let isEnded = false
      return {
        sent(bytes) {
          bytesSent += bytes
          uploaded += bytes
          if (isFull()) stop()
        },
        received(bytes) {
          bytesReceived += bytes
        },
        end() {
          if (isEnded) return
          isEnded = true
          const reason = isFull() ? { reason: `the limit of ${maxUpload} bytes to send was reached` } : {}
          tell({ host, port, allowed: true, ...reason, bytesSent, bytesReceived })
        },
      }
    },
  }
}
