import type { Readable, Writable } from 'node:stream'
import { makeServer, type ServerParts } from './make-server.ts'
import type { McpStdioOptions } from './stdio-options.ts'

/** Serves one client over two pipes, until it closes its end. */
export async function serveStdio(
  parts: ServerParts,
  { input, output, signal }: McpStdioOptions,
  report: (error: Error) => void,
): Promise<void> {
  const { stdio } = parts.loaded
  const transport = new stdio.StdioServerTransport(input as Readable | undefined, output as Writable | undefined, {
    maxBufferSize: mostBytes,
  })
  const over = Promise.withResolvers<void>()
  const handle = stdio.serveStdio(({ era }) => makeServer(parts, era), { transport, onerror: report })
  const { onclose } = transport
  transport.onclose = () => {
    onclose?.()
    over.resolve()
  }
  const stop = (): void => void handle.close().finally(over.resolve)
  signal?.addEventListener('abort', stop, { once: true })
  if (signal?.aborted) stop()
  try {
    await over.promise
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}

/** Of one message. */
const mostBytes = 16 * 1024 * 1024
