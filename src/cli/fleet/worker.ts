import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { hostname } from 'node:os'
import { workerHandler } from '../../durable/worker-http.ts'
import { measureWaits } from '../assembly/telemetry.ts'
import { exitCodes } from '../cli-error.ts'
import type { WorkerValues } from '../commands/worker.ts'
import type { Io } from '../io.ts'
import { addressOf, listen, loadNodeServer, onSecondSignal } from '../serve/node-server.ts'
import { onStop } from '../until-stopped.ts'
import { loadFleet } from './load-fleet.ts'

/** `libero worker`: works on the sessions of a fleet until a signal arrives, and then drains. */
export async function worker(values: WorkerValues, io: Io): Promise<number> {
  const { config = '', concurrency, host = '127.0.0.1', port = '0', grace = '30' } = values
  const makeServer = await loadNodeServer()
  const stop = onStop(io)
  const quitAtSecond = onSecondSignal(io)
  const fleet = await loadFleet(config, io)
  const onWait = await measureWaits(io)
  const key = randomBytes(24).toString('base64url')
  const working: { handle?: ReturnType<typeof workerHandler> } = {}
  const http = makeServer(async (request) => working.handle?.(request) ?? new Response('starting\n', { status: 503 }))
  try {
    await listen(http, Number(port), host)
    const address = addressOf(http)
    const started = fleet.work({
      address: withKey(values.address ?? reachable(address), key),
      ...(concurrency !== undefined && { concurrency: Number(concurrency) }),
      ...(onWait && { onWait }),
    })
    working.handle = workerHandler({ fleet, worker: started, key })
    io.out(`working at ${address}`)
    if (!stop.signal.aborted) await once(stop.signal, 'abort')
    const { running } = started.status()
    io.err(
      `libero: draining; ${running} runs may go on for ${grace} s, then other workers continue them. Ctrl-C again quits at once.`,
    )
    await started.drain({ graceMs: Number(grace) * 1000 })
    return exitCodes.done
  } finally {
    http.close()
    http.closeAllConnections()
    await fleet.close()
    stop.off()
    quitAtSecond()
  }
}

/** An address that listens on all networks is reached by the name of the machine. */
function reachable(address: string): string {
  const url = new URL(address)
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = hostname()
  return url.origin
}

/** Servers read the key from the list of workers, which is in the store. A process that can read the store can read the sessions anyway. */
function withKey(address: string, key: string): string {
  const url = new URL(address)
  url.password = key
  return url.href
}
