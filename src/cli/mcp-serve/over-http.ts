import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { messageOf } from '../../core/errors.ts'
import { CliError } from '../cli-error.ts'
import type { McpServeValues } from '../commands/mcp-serve.ts'
import type { Io } from '../io.ts'
import { openFace } from './open-face.ts'
import { untilStopped } from './until-stopped.ts'

/** Serves whoever connects and has the token, until a signal comes. */
export async function overHttp(values: McpServeValues, io: Io): Promise<number> {
  const { http, host = '127.0.0.1', 'allowed-host': allowedHosts } = values
  const token = io.env.LIBERO_MCP_TOKEN
  if (token !== undefined && token.length < 32)
    throw new CliError('LIBERO_MCP_TOKEN is too short to be a secret: give it at least 32 characters, or unset it')
  const face = await openFace(values, io)
  return untilStopped(io, async (signal) => {
    const listener = face.nodeListener({ ...(token && { token }), ...(allowedHosts && { allowedHosts }) })
    const server = createServer({ requestTimeout: 30_000, headersTimeout: 10_000, maxHeaderSize: 16_384 }, listener)
    server.maxConnections = 256
    try {
      await listen(server, typeof http === 'string' ? Number(http) : 0, host)
      io.err(`libero: MCP at ${addressOf(server)}`)
      io.err(
        token
          ? 'libero: clients need the token of LIBERO_MCP_TOKEN'
          : `libero: clients need this token: ${listener.token}`,
      )
      await new Promise<void>((done) => {
        if (signal.aborted) done()
        signal.addEventListener('abort', () => done(), { once: true })
      })
    } finally {
      await face.close()
      server.closeAllConnections()
      server.close()
    }
  })
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new CliError(`cannot listen at ${host} port ${port}: ${messageOf(cause)}; choose another with --http`, 1, {
          cause,
        }),
      ),
    )
    server.listen(port, host, resolve)
  })
}

function addressOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/mcp`
}
