import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/** Listeners on loopback and on sockets of this machine, which note that they were reached. */
export interface Listeners {
  readonly port: number
  readonly udpPort: number
  /** Of IPv6; 0 if this machine has none. */
  readonly sixPort: number
  /** The kinds of those that were reached. */
  readonly reached: readonly string[]
  close(): Promise<void>
}

export async function openListeners({ id, paths }: { id: string; paths: readonly string[] }): Promise<Listeners> {
  const reached: string[] = []
  const servers: Server[] = []
  async function listen(kind: string, at: { path: string } | { port: number; host: string }): Promise<Server> {
    const server = createServer((socket) => {
      reached.push(kind)
      socket.on('error', () => {}) // a client may be gone before it has its answer
      socket.once('data', () => socket.end('HTTP/1.0 200 OK\r\n\r\nhello\n'))
    })
    servers.push(server)
    server.listen(at)
    await once(server, 'listening')
    return server
  }

  const tcp = await listen('tcp', { port: 0, host: '127.0.0.1' })
  const six = await listen('tcp', { port: 0, host: '::1' }).catch(() => undefined)
  for (const path of paths) await listen('socket', { path })
  if (process.platform === 'linux') await listen('abstract', { path: `\0${id}` })
  const udp = createSocket('udp4')
  udp.on('message', () => reached.push('udp'))
  udp.bind(0, '127.0.0.1')
  await once(udp, 'listening')
  return {
    port: portOf(tcp),
    udpPort: udp.address().port,
    sixPort: six ? portOf(six) : 0,
    reached,
    async close() {
      udp.close()
      await Promise.all(servers.map((server) => new Promise((done) => server.close(done)))) // one that never listened too
    },
  }
}

function portOf(server: Server): number {
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('The listener has no port')
  return address.port
}
