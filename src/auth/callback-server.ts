import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { messageOf } from '../core/errors.ts'
import type { OAuthEndpoints } from './oauth.ts'
import { OAuthError } from './token-endpoint.ts'

export interface CallbackServer {
  /** What to give the authorization server as the redirect address. */
  readonly redirectUri: string
  close(): Promise<void>
}

/**
 * Waits on this machine for the browser to come back. `accept` looks at what it brings: true ends the waiting, false means that the
 * request was somebody else's. The page that is shown never repeats anything of what was asked.
 */
export async function startCallbackServer(
  { port = 0, path = '/callback', host = '127.0.0.1' }: NonNullable<OAuthEndpoints['redirect']>,
  accept: (answer: URLSearchParams) => boolean,
): Promise<CallbackServer> {
  const { createServer } = await import('node:http')
  const server = createServer(onRequest)
  await listen(server, port)
  const redirect = new URL(path, `http://${host}:${(server.address() as AddressInfo).port}`)
  let thanked: Promise<void> | undefined

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    const status = statusOf(request)
    if (status === 200) thanked = new Promise((resolve) => response.once('close', resolve))
    send(response, status)
  }

  function statusOf({ url = '', method, headers }: IncomingMessage): keyof typeof pages {
    const [path, query] = url.split('?', 2)
    // Another host name in the request means a page that had its own name point to this machine.
    if (headers.host !== redirect.host || path !== redirect.pathname) return 404
    if (method !== 'GET') return 405
    if (thanked) return 410
    return accept(new URLSearchParams(query)) ? 200 : 400
  }

  return {
    redirectUri: redirect.href,
    async close() {
      await thanked
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

const pages = {
  200: 'Thank you. You can close this window and go back to the program that opened it.',
  400: 'This is not the answer to a login that is under way here.',
  404: 'There is nothing here.',
  405: 'This page can only be read.',
  410: 'This login has been answered already.',
}

function send(response: ServerResponse, status: keyof typeof pages): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  })
  response.end(`<!doctype html><html lang="en"><title>Login</title><p>${pages[status]}</p></html>\n`)
}

async function listen(server: Server, port: number): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', resolve)
    })
  } catch (cause) {
    const isTaken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE'
    const message = isTaken
      ? `Port ${port} of 127.0.0.1 is taken, and this login needs it; end the program that uses it, maybe another login, and try again`
      : `Cannot listen on port ${port} of 127.0.0.1 for the answer to the login: ${messageOf(cause)}; allow it, or set another port`
    throw new OAuthError(message, { code: isTaken ? 'port_taken' : 'no_callback', cause })
  }
}
