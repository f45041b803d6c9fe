import type { ChildProcess } from 'node:child_process'
import { Server, type Socket } from 'node:net'
import { matchesHostRule } from '../../platform/addresses.ts'

/** Where the proxy is found inside. */
export const proxyPort = 3128

/**
 * Runs inside, before the command. It opens the port in the network of the sandbox and hands the open port out to us, so
 * that no process and no socket file has to stay in there. Stands in single quotes.
 */
export const listenerCode =
  'const s = require("net").createServer(); s.on("error", (e) => { console.error(e.message); process.exit(1) }); s.listen(Number(process.argv[1]), "127.0.0.1", 128, () => process.send("port", s, () => process.exit(0)))'

/** Takes over the port that the listener hands out; the result closes it. */
export function acceptFrom(child: ChildProcess, take: (socket: Socket) => void): () => void {
  let port: Server | undefined
  child.once('message', (_, handle) => {
    if (!(handle instanceof Server)) return
    port = handle
    port.on('connection', take)
    port.on('error', () => {}) // the sandbox is gone
  })
  return () => void port?.close()
}

/** What makes programs use it. A server inside the sandbox is still reached without it. */
export function proxyEnv(allow: readonly string[]): Record<string, string> {
  const proxy = `http://127.0.0.1:${proxyPort}`
  const own = ['localhost', '127.0.0.1', '::1'].filter((host) => !isOutside(host, allow)).join(',')
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']
  return Object.fromEntries([
    ...names.flatMap((name) => [name, name.toLowerCase()]).map((name) => [name, proxy]),
    ['NO_PROXY', own],
    ['no_proxy', own],
    ['NODE_USE_ENV_PROXY', '1'],
  ])
}

/** Whether a name of the loopback means that of this machine, whatever the port. */
function isOutside(host: string, allow: readonly string[]): boolean {
  return allow.some((rule) => matchesHostRule(host, Number(/:(\d+)$/.exec(rule)?.[1] ?? 0), [rule]))
}
