import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { messageOf } from '../../core/errors.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import type { Io } from '../io.ts'

type Fetch = (request: Request) => Promise<Response>

/** The HTTP server of Node around a handler. Its package is loaded here, before anything is opened. */
export async function loadNodeServer(): Promise<(fetch: Fetch) => Server> {
  const [{ createAdaptorServer }] = await Promise.all([import('@hono/node-server'), import('hono')]).catch((cause) => {
    throw new CliError(
      'An HTTP server needs the packages hono and @hono/node-server; install them with: npm install hono @hono/node-server',
      exitCodes.error,
      { cause },
    )
  })
  const serverOptions = { requestTimeout: 60_000, headersTimeout: 10_000, maxHeaderSize: 16_384 }
  return (fetch) =>
    createAdaptorServer({ fetch: (request) => fetch(request), serverOptions, overrideGlobalObjects: false }) as Server
}

export function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new CliError(`cannot listen at ${host} port ${port}: ${messageOf(cause)}; choose another with --port`, 1, {
          cause,
        }),
      ),
    )
    server.listen(port, host, resolve)
  })
}

export function addressOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

/** A second SIGTERM within this time is the first one: supervisors send it to a process and to its parent, which passes it on. */
const sameSignalMs = 1000

/** The first signal lets runs be left in order; a person who asks again does not want to wait. */
export function onSecondSignal(io: Pick<Io, 'onSignal' | 'quit'>): () => void {
  let firstAt: number | undefined
  return io.onSignal((signal) => {
    const sinceFirst = firstAt === undefined ? undefined : performance.now() - firstAt
    firstAt ??= performance.now()
    if (sinceFirst === undefined || (signal === 'SIGTERM' && sinceFirst < sameSignalMs)) return
    io.quit(exitCodes.interrupted)
  })
}
