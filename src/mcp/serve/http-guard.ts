import { isSameSecret } from '../../platform/is-same-secret.ts'

/** Which HTTP requests an agent server accepts. */
export interface McpHttpOptions {
  /** Required of every request as `Authorization: Bearer …`; at least 32 characters. */
  readonly token: string
  /** Allowed values of the `Host` header, with or without a port. Default: the loopback names of this machine. */
  readonly allowedHosts?: readonly string[]
  /** Default 1 MiB. */
  readonly maxBodyBytes?: number
}

/** 256 random bits. */
export function createMcpToken(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')
}

/** Throws for options that would not keep strangers out. */
export function checkHttpOptions({ token, allowedHosts }: McpHttpOptions): void {
  if (typeof token !== 'string' || token.length < 32)
    throw new TypeError('token must be a text of at least 32 characters; createMcpToken() makes one')
  if (allowedHosts?.some((host) => typeof host !== 'string' || host === '' || host.includes('*')))
    throw new TypeError('allowedHosts must be names such as "tools.example.com", without wildcards')
}

/** The response to a request that is refused. Host and origin come first: a page on another site learns nothing about the token. */
export async function refuse(request: Request, options: McpHttpOptions): Promise<Response | undefined> {
  const host = request.headers.get('host') ?? new URL(request.url).host
  if (!isAllowed(host, options.allowedHosts ?? loopback))
    return problem(403, 'this server is not called by that Host; add the name to its allowed hosts')
  const origin = request.headers.get('origin')
  if (origin !== null && origin !== `http://${host}` && origin !== `https://${host}`)
    return problem(403, 'requests of pages on another origin are not answered')
  const [, given = ''] = /^Bearer +(\S+) *$/i.exec(request.headers.get('authorization') ?? '') ?? []
  if (!isSameSecret(given, options.token))
    return problem(401, 'send the token of this server as Authorization: Bearer <token>', {
      'www-authenticate': 'Bearer',
    })
  return undefined
}

/** The request with its body read, or a response that says why the body is refused. */
export async function admitBody(request: Request, maxBytes = defaultMaxBytes): Promise<Request | Response> {
  if (request.method !== 'POST' || !request.body) return request
  const body = await readBounded(request.body, maxBytes)
  if (!body) return problem(413, `the body has more than ${maxBytes} bytes; send less`)
  if (isTooDeep(body)) return problem(413, `the body is nested more than ${deepest} levels deep; send flatter JSON`)
  const { url, method, headers, signal } = request
  return new Request(url, { method, headers, body, signal })
}

/** An error response in the form of JSON-RPC. */
export function problem(status: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ jsonrpc: '2.0', error: { code: -32000, message }, id: null }, { status, headers })
}

const loopback = ['localhost', '127.0.0.1', '[::1]']
const defaultMaxBytes = 1024 * 1024
const deepest = 64

function isAllowed(host: string, allowed: readonly string[]): boolean {
  const name = host.replace(/:\d+$/, '')
  return allowed.some((one) => one.toLowerCase() === name.toLowerCase() || one.toLowerCase() === host.toLowerCase())
}

async function readBounded(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Buffer<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Checked before parsing, in one pass. Brackets inside strings do not count. */
function isTooDeep(body: Buffer): boolean {
  let depth = 0
  let isText = false
  for (let i = 0; i < body.length; i++) {
    const byte = body[i]
    if (isText) {
      if (byte === backslash) i++
      else if (byte === quote) isText = false
    } else if (byte === quote) isText = true
    else if (byte === openBrace || byte === openBracket) {
      if (++depth > deepest) return true
    } else if (byte === closeBrace || byte === closeBracket) depth--
  }
  return false
}

const [quote, backslash, openBrace, openBracket, closeBrace, closeBracket] = Buffer.from('"\\{[}]')
