import type { Server } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { serve } from '@hono/node-server'
import { onTestFinished } from 'vitest'
import type { RemoteOptions } from '../../src/client/index.ts'
import { token } from './server-kit.ts'

/** A function from requests to responses on a port of this machine, until the test is over. */
export async function listen(
  fetch: (request: Request) => Response | Promise<Response>,
  port = 0,
): Promise<{ readonly url: string; readonly port: number; close(): Promise<void> }> {
  const server = await new Promise<Server>((resolve) => {
    const made = serve({ overrideGlobalObjects: false, fetch, hostname: '127.0.0.1', port }, () =>
      resolve(made as Server),
    ) as Server
  })
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  onTestFinished(close)
  const { port: own } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${own}`, port: own, close }
}

/** Options of a client with the token of the tests. */
export const remote = (url: string): RemoteOptions & { token: string } => ({ url, token })

export interface CuttingProxy {
  readonly url: string
  /** Where connections lead. Those that are open are cut. */
  leadTo(port: number): void
  /** How often a connection was cut. */
  readonly cuts: number
  /** No connection is cut from now on. */
  relent(): void
}

/** A proxy that cuts each connection after a random number of bytes from the server, some before the first. */
export async function cuttingProxy(port: number, mostBytes: number): Promise<CuttingProxy> {
  let target = port
  let cuts = 0
  let isCutting = true
  const open = new Set<Socket>()
  const proxy = createTcpServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    let left = Math.floor(Math.random() * mostBytes)
    const end = (): void => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket.on('error', end)
      socket.on('close', () => {
        open.delete(socket)
        end()
      })
    }
    client.pipe(upstream)
    upstream.on('data', (bytes: Buffer) => {
      left -= bytes.length
      if (left >= 0 || !isCutting) return void client.write(bytes)
      cuts++
      client.write(bytes.subarray(0, bytes.length + left), end)
    })
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of open) socket.destroy()
    await new Promise((resolve) => proxy.close(resolve))
  })
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    leadTo(next) {
      target = next
      for (const socket of open) socket.destroy()
    },
    get cuts() {
      return cuts
    },
    relent() {
      isCutting = false
    },
  }
}
