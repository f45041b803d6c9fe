import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import type { OAuthEndpoints } from './oauth.ts'
import { OAuthError } from './token-endpoint.ts'

export interface CallbackServer {
  /** The redirect address for the authorization server. */
  readonly redirectUri: string
  close(): Promise<void>
}

/**
 * Waits on this machine for the browser's redirect. `accept` checks its parameters: true ends the waiting, false means that the
 * request does not belong to this login. The page that is shown never repeats parts of the request.
 */
export async function startCallbackServer(
  { port = 0, path = '/callback', host = '127.0.0.1' }: NonNullable<OAuthEndpoints['redirect']>,
  accept: (answer: URLSearchParams) => boolean,
): Promise<CallbackServer> {
  const { createServer } = await import('node:http')
  const server = createServer(onRequest)
  await listen(server, port)
  const redirect = new URL(path, `http://${host}:${(server.address() as AddressInfo).port}`)
  let answered: Promise<void> | undefined

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    const status = statusOf(request)
    if (status === 200) answered = new Promise((resolve) => response.once('close', resolve))
    send(response, status)
  }

  function statusOf({ url = '', method, headers }: IncomingMessage): keyof typeof pages {
    const [path, query] = url.split('?', 2)
    // Another host name means that a web page made its own name resolve to this machine.
    if (headers.host !== redirect.host || path !== redirect.pathname) return 404
    if (method !== 'GET') return 405
    if (answered) return 410
    return accept(new URLSearchParams(query)) ? 200 : 400
  }

  return {
    redirectUri: redirect.href,
    async close() {
      await answered
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

/** 256 random bits as text. */
export function randomText(): string {
  return base64Url(crypto.getRandomValues(new Uint8Array(32)))
}

export function base64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

/** Opens the page of a login, or tells the user to open it. */
export async function openLoginPage(
  url: string,
  { openBrowser, print }: { openBrowser?: (url: string) => void | Promise<void>; print?: (text: string) => void },
): Promise<void> {
  try {
    const open = openBrowser ?? (await import('./open-browser.ts')).openBrowser
    await open(url)
  } catch (error) {
    print?.(`The browser could not be opened (${messageOf(error)}); open the address yourself`)
  }
}

interface LoginLimits {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs: number
  readonly clock: Clock
}

/** Rejects the login to `target` after the time limit or on abort. Returns a function that ends the watch. */
export function limitLogin(
  target: string,
  { signal, timeoutMs, clock }: LoginLimits,
  reject: (error: OAuthError) => void,
): () => void {
  const onAbort = (): void => reject(loginAborted(target))
  if (signal?.aborted) onAbort()
  signal?.addEventListener('abort', onAbort)
  const cancelTimer = clock.timer(timeoutMs, () => {
    const message = `The login to ${target} was not completed within ${timeoutMs / 1000} s; start it again when ready`
    reject(new OAuthError(message, { code: 'timeout' }))
  })
  return () => {
    cancelTimer()
    signal?.removeEventListener('abort', onAbort)
  }
}

export function loginAborted(target: string): OAuthError {
  return new OAuthError(`The login to ${target} was aborted; start it again when ready`, { code: 'aborted' })
}
